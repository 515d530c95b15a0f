import { SAMPLES } from './providers.ts';

export interface Case {
  readonly what: string;
  readonly spec?: object;
  readonly secret?: Readonly<Record<string, string>>;
  /** The environment variables of the machine controller. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly event: RegExp;
  readonly says: RegExp | 'it works';
  readonly secrets?: readonly string[];
}

/** Returns a valid class of a provider. */
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
