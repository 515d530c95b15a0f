import { SAMPLES } from './providers.ts';

/** An invalid class or Secret, and the expected messages. */
export interface Case {
  readonly what: string;
  readonly spec?: object;
  readonly secret?: Readonly<Record<string, string>>;
  /** The environment variables of the machine controller. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The files that the machine controller can read, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** The event that the class must get: its reason and its message. */
  readonly event: RegExp;
  /** The text that the status of the class's machines must contain. */
  readonly says: RegExp | 'it works';
  /** Secret texts, in addition to the values in the Secret. The values of the Secret are always secret. */
  readonly secrets?: readonly string[];
}

/** Returns a valid class of a provider. Tests change this class. */
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
