type Partly<T> = T extends readonly (infer Item)[]
  ? readonly Partly<Item>[]
  : T extends (...args: never) => unknown
    ? T
    : T extends object
      ? { readonly [K in keyof T]?: Partly<T[K]> | undefined }
      : T;

/**
 * Returns an object with only the fields that a test needs. In contrast to a cast through `unknown`, TypeScript checks
 * the names and types of these fields.
 */
export const partial = <T>(fields: Partly<T>): T => fields as T;
