/* noentry.c -- a shared object that is no application. */
int narwhal_nothing(void);

int
narwhal_nothing(void)
{
	return 0;
}
