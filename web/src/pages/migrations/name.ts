/** Whether a migration may be called so. */
export const isName = (name: string): boolean => /^[a-z0-9][a-z0-9_-]{0,39}$/.test(name);
