import { selectorMatches } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { compareBytes } from '../config/order.ts';
import { NodeLabels } from '../constants/labels.ts';
import { MASTER_POOL, WORKER_POOL } from '../constants/names.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { checkSelector, SelectorError, selects } from '../kinds/selectors.ts';
import type { ClaimsOf } from '../machines/fleet.ts';

/** The error for a node that several pools select, and that the controller therefore does not change. */
export class MembershipError extends Error {
  override readonly name = 'MembershipError';
}

/** Returns true for a custom pool. */
export const isCustomPool = ({ metadata }: MachineConfigPool): boolean =>
  metadata.name !== MASTER_POOL && metadata.name !== WORKER_POOL;

const isWindows = ({ metadata }: Node): boolean => metadata.labels?.[NodeLabels.OperatingSystem] === 'windows';

/**
 * Returns the pools of a node, with the primary pool first. Only the primary pool counts and updates a node.
 * @param claimsOf pools that refer to the node's machine, which take precedence over all selectors.
 * @returns an empty list for an unmanaged node
 * @throws MembershipError if several custom pools select the node, or if a selector is invalid
 */
export function poolsOfNode(
  node: Node,
  pools: readonly MachineConfigPool[],
  claimsOf: ClaimsOf = () => [],
): readonly MachineConfigPool[] {
  if (isWindows(node)) return [];
  const claiming = claimsOf(node);
  if (claiming.length > 1) throw new MembershipError(claimedTwice(node, claiming));
  if (claiming.length === 1) return claiming;
  return primaryFirst(node, poolsMatching(node, pools));
}

const claimedTwice = ({ metadata }: Node, pools: readonly MachineConfigPool[]): string =>
  `node ${metadata.name} belongs to ${pools.length} pools by reference to its machine, cannot proceed with this Node`;

function poolsMatching(node: Node, pools: readonly MachineConfigPool[]): readonly MachineConfigPool[] {
  try {
    for (const { spec } of pools) checkSelector(spec?.nodeSelector);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new MembershipError(`invalid label selector: ${error.message}`, { cause: error });
  }
  return pools.filter(({ spec }) => selects(spec?.nodeSelector, node));
}

/** @throws MembershipError if several custom pools contain the node */
export function primaryFirst(node: Node, claiming: readonly MachineConfigPool[]): readonly MachineConfigPool[] {
  const named = (name: string) => claiming.filter(({ metadata }) => metadata.name === name);
  const [master, worker, custom] = [named(MASTER_POOL), named(WORKER_POOL), claiming.filter(isCustomPool)];
  if (custom.length > 1) {
    const names = custom.length;
    throw new MembershipError(
      `node ${node.metadata.name} belongs to ${names} custom roles, cannot proceed with this Node`,
    );
  }
  if (custom.length === 0 && master.length > 0) return master;
  return master.length > 0 ? [...master, ...worker] : [...custom, ...worker];
}

/** Returns the nodes whose primary pool is the given pool. */
export function nodesOfPool(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
  claimsOf?: ClaimsOf,
): { readonly nodes: readonly Node[]; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const own = nodes.filter((node) => {
    if (!selectorMatches(pool.spec?.nodeSelector, node.metadata.labels)) return false;
    try {
      return poolsOfNode(node, pools, claimsOf)[0]?.metadata.name === pool.metadata.name;
    } catch (error) {
      if (!(error instanceof MembershipError)) throw error;
      problems.push(error.message);
      return false;
    }
  });
  return { nodes: own, problems: problems.toSorted(compareBytes) };
}
