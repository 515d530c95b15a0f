/** T, where each optional member may also be undefined. */
type Loose<T> = { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] };

/** T, where each member that may be undefined is optional instead. */
type Exact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * The object without its undefined members: an object for the API server, which the place of use expects as `T`.
 * Compare `withoutUndefined`, for an object without an expected type.
 */
export function defined<T extends object = never>(members: NoInfer<Loose<T>>): T;
export function defined(members: object): object {
  return stripped(members);
}

/** The members that are not undefined, such as in `{ ...defaults, ...withoutUndefined({ name, labels }) }`. */
export function withoutUndefined<T extends object>(members: T): Exact<T>;
export function withoutUndefined(members: object): object {
  return stripped(members);
}

function stripped(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
