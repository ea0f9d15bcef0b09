/** A regular expression that matches this name alone. */
export const literal = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
