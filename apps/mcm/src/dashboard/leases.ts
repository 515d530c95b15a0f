import type { ControllerRow } from '@mcm/dashboard';
import { isNotFound, type KubeClient, type Lease, leases } from '@mcm/kube';
import { brieflyVisible, millisOf } from './rows/text.ts';

/** The work that stops with each controller, by the name of its Lease. */
const WORK: Readonly<Record<string, string>> = {
  'machine-controller-manager': 'no rollout continues, and no machine is replaced',
  'machine-controller': 'no VM is created or deleted, and no node is drained',
};

/** A clock that differs by this much, or a slow API server, does not make a controller dead. */
const PATIENCE_MS = 5_000;
const DEFAULT_DURATION_S = 15;

/** The row of a controller, from its Lease. */
function controllerRow(name: string, ns: string, lease: Lease | undefined, now: number): ControllerRow {
  const { holderIdentity, renewTime, leaseDurationSeconds } = lease?.spec ?? {};
  const renewed = millisOf(renewTime) ?? 0;
  const expires = renewed + (leaseDurationSeconds ?? DEFAULT_DURATION_S) * 1_000 + PATIENCE_MS;
  const acts = Boolean(holderIdentity) && now <= expires;
  const work = WORK[name] ?? 'its objects are not updated';
  return {
    key: `${ns}/${name}`,
    ns,
    name,
    holder: brieflyVisible(holderIdentity ?? ''),
    renewed,
    level: acts ? 'ready' : 'failed',
    why: acts ? '' : renewed === 0 ? `it has never run: ${work}` : `it does not act: ${work}`,
  };
}

/** Reads the Leases of the controllers. In all namespaces, only existing Leases are known. */
export async function readControllers(
  client: KubeClient,
  namespace: string | undefined,
  now: number,
): Promise<readonly ControllerRow[]> {
  if (namespace === undefined) {
    const { items } = await client.resource<Lease>(leases).list();
    return items
      .filter(({ metadata }) => metadata.name in WORK)
      .map((lease) => controllerRow(lease.metadata.name, lease.metadata.namespace ?? '', lease, now));
  }
  const api = client.resource<Lease>(leases, namespace);
  return Promise.all(
    Object.keys(WORK).map(async (name) => {
      const lease = await api.get(name).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      return controllerRow(name, namespace, lease, now);
    }),
  );
}
