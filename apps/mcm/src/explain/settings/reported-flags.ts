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

export type ToldFlags = { readonly flags: Readonly<Record<string, unknown>> } | { readonly unknown: string };

export async function readToldFlags(client: KubeClient, namespace: string, name: string): Promise<ToldFlags> {
  const leaseName = `Lease ${namespace}/${name}`;
  try {
    const lease = await client.resource<Lease>(leases, namespace).get(name);
    const flags = holderSettings(lease);
    if (flags) return { flags };
    const holder = lease.spec?.holderIdentity ?? '';
    return {
      unknown: holder === '' ? `${leaseName} has no holder` : `${leaseName} does not contain the flags of ${holder}`,
    };
  } catch (error) {
    if (!(error instanceof KubeError) || error.code === 0) throw error;
    return {
      unknown: error.code === 404 ? `${leaseName} does not exist` : `${leaseName} cannot be read (${errorText(error)})`,
    };
  }
}

const taken = <T>(value: unknown, fallback: T): T =>
  typeof value === typeof fallback && Array.isArray(value) === Array.isArray(fallback) ? (value as T) : fallback;

/** Returns the value of a flag in the Lease. */
export const reportedFlag = <T>(reported: Readonly<Record<string, unknown>>, name: string, fallback: T): T =>
  taken(reported[name], fallback);

export const reportedValues = <F extends Flags>(reported: Readonly<Record<string, unknown>>, flags: F): FlagValues<F> =>
  Object.fromEntries(
    Object.entries(flags).map(([name, { fallback }]) => [name, taken(reported[name], fallback)]),
  ) as FlagValues<F>;

/** Returns for each feature whether it is on. `on` contains the default of every feature. */
export function reportedFeatures<N extends string>(
  reported: Readonly<Record<string, unknown>>,
  on: Readonly<Record<N, boolean>>,
): Readonly<Record<N, boolean>> {
  const gates = reportedFlag<object>(reported, 'feature-gates', {});
  const features = Object.fromEntries(Object.entries(gates));
  return Object.fromEntries(
    Object.entries<boolean>(on).map(([name, byDefault]) => [name, reportedFlag(features, name, byDefault)]),
  ) as Record<N, boolean>;
}

export const changedFlags = (values: Readonly<Record<string, unknown>>, flags: Flags): string[] =>
  Object.entries(values).flatMap(([name, value]) => {
    const flag = flags[name];
    if (flag === undefined || JSON.stringify(value) === JSON.stringify(flag.fallback)) return [];
    const shown = (given: unknown): string =>
      flag.placeholder === '<duration>' && typeof given === 'number' ? formatDurationMs(given) : String(given);
    return [`--${name} is ${shown(value)}, not ${shown(flag.fallback)}`];
  });
