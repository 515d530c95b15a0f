import { formatDurationMs } from '@mcm/api';
import {
  errorText,
  type Flags,
  type FlagValues,
  holderSettings,
  type KubeClient,
  KubeError,
  type Lease,
  leases,
} from '@mcm/kube';

/** What the controller that holds a Lease tells of its flags, or why nothing is known of them. */
export type ToldFlags = { readonly flags: Readonly<Record<string, unknown>> } | { readonly unknown: string };

/** Reads the flags of the controller that leads off its Lease. */
export async function readToldFlags(client: KubeClient, namespace: string, name: string): Promise<ToldFlags> {
  const where = `Lease ${namespace}/${name}`;
  try {
    const lease = await client.resource<Lease>(leases, namespace).get(name);
    const flags = holderSettings(lease);
    if (flags) return { flags };
    const holder = lease.spec?.holderIdentity ?? '';
    return { unknown: holder === '' ? `nobody holds ${where}` : `${where} does not say which ${holder} has` };
  } catch (error) {
    if (!(error instanceof KubeError) || error.code === 0) throw error;
    return { unknown: error.code === 404 ? `there is no ${where}` : `${where} cannot be read (${errorText(error)})` };
  }
}

const taken = <T>(value: unknown, fallback: T): T =>
  typeof value === typeof fallback && Array.isArray(value) === Array.isArray(fallback) ? (value as T) : fallback;

/** One that is told, else the fallback: what is of another type is not taken. */
export const toldFlag = <T>(told: Readonly<Record<string, unknown>>, name: string, fallback: T): T =>
  taken(told[name], fallback);

/** Values of all flags of a group. */
export const toldValues = <F extends Flags>(told: Readonly<Record<string, unknown>>, flags: F): FlagValues<F> =>
  Object.fromEntries(
    Object.entries(flags).map(([name, { fallback }]) => [name, taken(told[name], fallback)]),
  ) as FlagValues<F>;

/** Whether features are on; `on` holds what they are by default. */
export function toldFeatures<N extends string>(
  told: Readonly<Record<string, unknown>>,
  on: Readonly<Record<N, boolean>>,
): Readonly<Record<N, boolean>> {
  const gates = toldFlag<object>(told, 'feature-gates', {});
  const features = Object.fromEntries(Object.entries(gates));
  return Object.fromEntries(
    Object.entries<boolean>(on).map(([name, byDefault]) => [name, toldFlag(features, name, byDefault)]),
  ) as Record<N, boolean>;
}

/** The values that are not at their defaults, for a person. */
export const changedFlags = (values: Readonly<Record<string, unknown>>, flags: Flags): string[] =>
  Object.entries(values).flatMap(([name, value]) => {
    const flag = flags[name];
    if (flag === undefined || JSON.stringify(value) === JSON.stringify(flag.fallback)) return [];
    const shown = (given: unknown): string =>
      flag.placeholder === '<duration>' && typeof given === 'number' ? formatDurationMs(given) : String(given);
    return [`--${name} is ${shown(value)}, not ${shown(flag.fallback)}`];
  });
