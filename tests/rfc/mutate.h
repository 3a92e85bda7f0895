/*
 * mutate.h -- requests with something wrong, or odd, or right after all.
 */
#ifndef RFC_MUTATE_H
#define RFC_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Room for any of them. */
#define MUTANT_MAX 4096

/* The same numbers for the same seed, everywhere. */
struct dice {
	uint64_t state;
};

size_t dice_roll(struct dice *d, size_t n); /* below n, which is not 0 */

/* So many at first have nothing wrong. */
#define MUTANTS_PLAIN 17

/* The mutant of that number into p[MUTANT_MAX]; its length. */
size_t mutate(uint64_t number, char *p);

#endif
