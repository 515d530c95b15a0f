import { SAFEGUARD_DEFAULTS, type SafeguardSettings, safeguardFlags, safeguardsOf } from '@mcm/core';
import { errorText, holderSettings, type KubeClient, KubeError, type Lease, leases } from '@mcm/kube';

const LEASE = 'machine-controller-manager';

/** How the manager that leads decides, as far as anybody can know. */
export interface ManagerSettings {
  readonly safeguards: SafeguardSettings;
  /** What is taken for granted, or what differs from the defaults; undefined: it is known to run with these. */
  readonly remark: string | undefined;
}

/** Where nothing is known. */
export const assumedSettings = (why: string): ManagerSettings => ({
  safeguards: SAFEGUARD_DEFAULTS,
  remark: `the manager runs with its default flags: ${why}`,
});

/** Reads the flags of the manager that leads off its Lease. What is not known is assumed, and said to be. */
export async function readManagerSettings(client: KubeClient, namespace: string): Promise<ManagerSettings> {
  const where = `Lease ${namespace}/${LEASE}`;
  try {
    const lease = await client.resource<Lease>(leases, namespace).get(LEASE);
    const told = holderSettings(lease);
    if (told) return managerSettings(told);
    const holder = lease.spec?.holderIdentity ?? '';
    return assumedSettings(holder === '' ? `nobody holds ${where}` : `${where} does not say which ${holder} has`);
  } catch (error) {
    if (!(error instanceof KubeError) || error.code === 0) throw error;
    return assumedSettings(
      error.code === 404 ? `there is no ${where}` : `${where} cannot be read (${errorText(error)})`,
    );
  }
}

/** The settings that flags which are not at their defaults stand for; what is of another type is not taken. */
export function managerSettings(told: Readonly<Record<string, unknown>>): ManagerSettings {
  const own = Object.entries(safeguardFlags).map(([name, { fallback }]) => [name, taken(told[name], fallback)]);
  const gates = told['feature-gates'];
  const features: Readonly<Record<string, unknown>> = typeof gates === 'object' && gates !== null ? { ...gates } : {};
  const safeguards: SafeguardSettings = {
    ...safeguardsOf(Object.fromEntries(own) as Parameters<typeof safeguardsOf>[0]),
    countTerminating: taken(told['count-terminating-towards-surge'], SAFEGUARD_DEFAULTS.countTerminating),
    rolloutAnnotations: taken(features['RolloutAnnotations'], SAFEGUARD_DEFAULTS.rolloutAnnotations),
  };
  const off = safeguards.rolloutAnnotations
    ? []
    : ['feature RolloutAnnotations is off: rollout annotations do nothing'];
  const changed = own.flatMap(([name, value]) => {
    const fallback = safeguardFlags[name as keyof typeof safeguardFlags].fallback;
    return value === fallback ? [] : [`--${String(name)} is ${String(value)}, not ${String(fallback)}`];
  });
  const counts = safeguards.countTerminating ? ['--count-terminating-towards-surge is true'] : [];
  const all = [...off, ...changed, ...counts];
  return { safeguards, remark: all.length > 0 ? `of the manager: ${all.join('; ')}` : undefined };
}

const taken = <T>(value: unknown, fallback: T): T => (typeof value === typeof fallback ? (value as T) : fallback);
