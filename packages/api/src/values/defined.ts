type Loose<T> = { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] };

/** Returns the object without its undefined properties. */
export function defined<T extends object = never>(members: NoInfer<Loose<T>>): T;
export function defined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
