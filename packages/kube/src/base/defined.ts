type Loose<T> = { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] };

type Exact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the object without its undefined properties. */
export function defined<T extends object = never>(members: NoInfer<Loose<T>>): T;
export function defined(members: object): object {
  return stripped(members);
}

/**
 * Returns the object without its undefined properties, for a spread such as `{ ...defaults, ...withoutUndefined({ name,
 * labels }) }`.
 */
export function withoutUndefined<T extends object>(members: T): Exact<T>;
export function withoutUndefined(members: object): object {
  return stripped(members);
}

function stripped(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
