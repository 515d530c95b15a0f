type Partly<T> = T extends readonly (infer Item)[]
  ? readonly Partly<Item>[]
  : T extends (...args: never) => unknown
    ? T
    : T extends object
      ? { readonly [K in keyof T]?: Partly<T[K]> | undefined }
      : T;

/** Returns an object with only the fields that a test needs. */
export const partial = <T>(fields: Partly<T>): T => fields as T;
