import { type Clock, isForbidden, type KubeClient, type Lease, leases } from '@mcm/kube';
import type { PoolExplanation } from '@mcm/machine-config';
import type { Cluster } from '../cluster/cluster.ts';
import { type ControllerHealth, type ControllerName, notActing } from '../controllers/health.ts';
import { readControllers } from '../controllers/read.ts';

const NAME: ControllerName = 'machine-config-controller';

/**
 * Reads whether the machine-config-controller and the programs of the local instance work.
 * @returns the controllers and programs that do not work
 * @throws KubeError if the API server does not respond
 */
export async function readConfigController(cluster: Cluster, clock: Clock): Promise<readonly ControllerHealth[]> {
  const { client, programs } = cluster;
  const names: readonly ControllerName[] = [NAME];
  const read = await Promise.all(
    (await namespacesOf(cluster)).map((namespace) => readControllers({ client, namespace, clock, names })),
  );
  const healths = read.flat();
  // A removed installation leaves its expired Lease in its namespace, so mcm reports no stopped controller if any
  // controller works.
  const stopped = healths.some(({ state }) => state === 'acts') ? [] : notActing(healths);
  return [...stopped, ...notActing(programs?.() ?? [])];
}

/**
 * Returns the namespaces that have a Lease of the machine-config-controller. Pools have no namespace, so the controller
 * may run in any namespace.
 */
async function namespacesOf({ client, namespace }: Cluster): Promise<readonly string[]> {
  const found = await leaseNamespaces(client);
  return found === undefined || found.length === 0 ? [namespace] : found;
}

/**
 * Searches all namespaces for the Lease of the controller. If the user may not list the Leases of all namespaces, the
 * result is undefined.
 */
async function leaseNamespaces(client: KubeClient): Promise<readonly string[] | undefined> {
  try {
    const { items } = await client.resource<Lease>(leases).list({ fieldSelector: `metadata.name=${NAME}` });
    return items.map(({ metadata }) => metadata.namespace ?? '');
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** The explanation of a pool, with the controllers and programs that do not work. */
export interface PoolReport extends PoolExplanation {
  readonly controllers?: readonly ControllerHealth[];
}

/**
 * Returns the text that replaces the next step of a controller that does not work. If the controller works, the result
 * is undefined.
 */
export const stoppedText = ({ controllers = [] }: PoolReport): string | undefined =>
  controllers.some(({ name }) => name === NAME) ? `${NAME} is not working` : undefined;

/**
 * Adds the controllers and programs that do not work to an explanation. If the machine-config-controller does not work,
 * the result contains no next step.
 */
export function withControllers(pool: PoolExplanation, controllers: readonly ControllerHealth[]): PoolReport {
  if (controllers.length === 0) return pool;
  const report = { ...pool, controllers };
  const stopped = stoppedText(report);
  if (stopped === undefined) return report;
  const standing = pool.standing.map((node) =>
    pool.next.includes(node.name)
      ? { ...node, why: `the node does not get the target configuration: ${stopped}` }
      : node,
  );
  return { ...report, next: [], standing, blockers: [stopped, ...pool.blockers] };
}
