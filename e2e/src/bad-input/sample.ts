import { SAMPLES } from './providers.ts';

/** A class and a Secret that cannot work. */
export interface Case {
  readonly what: string;
  readonly spec?: object;
  readonly secret?: Readonly<Record<string, string>>;
  /** Variables of the controller's environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Files that the controller can read, by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  /** The message of an event on the class, with its reason. */
  readonly event: RegExp;
  /** The message in the status of its machines. */
  readonly says: RegExp | 'it works';
  /** Further secret texts. The values of the Secret are always secret. */
  readonly secrets?: readonly string[];
}

/** The ordinary class of a provider, with changes. */
export const sample = (provider: string) => {
  const found = SAMPLES.find((each) => each.provider === provider);
  if (!found) throw new Error(`no sample class exists for ${provider}`);
  const without = (key: string): Record<string, string> =>
    Object.fromEntries(Object.entries(found.secret).filter(([name]) => name !== key));
  return {
    spec: (change: object) => ({ ...found.spec, ...change }),
    secret: (change: Readonly<Record<string, string>>) => ({ ...found.secret, ...change }),
    without,
  };
};
