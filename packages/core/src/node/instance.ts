import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';

/**
 * What two provider ids say of the VMs that they name.
 * - `same`: one VM.
 * - `alike`: all parts that both ids have are equal, but one id lacks parts of the other. They may name one VM.
 * - `different`: two VMs.
 * - `unknown`: the ids cannot be compared, because one is empty or their schemes differ.
 */
export type InstanceMatch = 'same' | 'alike' | 'different' | 'unknown';

interface ProviderId {
  /** In lower case; empty for an id without one, such as the name of a Pod. */
  readonly scheme: string;
  /** What stands between slashes. Empty parts are left out, as clouds do not agree on the number of slashes. */
  readonly parts: readonly string[];
}

function parse(id: string): ProviderId {
  const [, scheme = '', rest = id] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(id) ?? [];
  return { scheme: scheme.toLowerCase(), parts: rest.split('/').filter((part) => part !== '') };
}

const last = (parts: readonly string[]): string => parts.at(-1) ?? '';
const equal = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((part, i) => part === b[i]);
const lower = (parts: readonly string[]): readonly string[] => parts.map((part) => part.toLowerCase());

/** Compares the parts of two ids of one scheme. */
type Compare = (a: readonly string[], b: readonly string[]) => InstanceMatch;

/** All that is known of other clouds: the last part names the VM. */
const compareAny: Compare = (a, b) => {
  if (equal(a, b)) return 'same';
  return last(a).toLowerCase() === last(b).toLowerCase() ? 'alike' : 'different';
};

/** `aws:///<zone>/<id>` by the cloud controller, `aws:///<region>/<id>` by the driver, `aws:///<id>` by old controllers. */
const compareAws: Compare = (a, b) => {
  if (equal(a, b)) return 'same';
  if (last(a) !== last(b) || a.length > 2 || b.length > 2) return 'different';
  const [placeA, placeB] = [a.at(-2), b.at(-2)];
  if (placeA === undefined || placeB === undefined) return 'alike';
  return isZoneOf(placeA, placeB) || isZoneOf(placeB, placeA) ? 'same' : 'different';
};

/** `eu-west-1a` and the local zone `us-west-2-lax-1a` are zones of their regions; `eu-west-12` is none of `eu-west-1`. */
const isZoneOf = (zone: string, region: string): boolean =>
  zone.startsWith(region) && /^([a-z]|-.+)$/.test(zone.slice(region.length));

/** `gce://<project>/<zone>/<name>` by the cloud controller, with one slash more by the driver. */
const compareGce: Compare = (a, b) => {
  if (equal(a, b)) return 'same';
  return last(a) === last(b) && (a.length < 3 || b.length < 3) ? 'alike' : 'different';
};

/**
 * `azure:///subscriptions/…/virtualMachines/<name>` by the cloud controller, `azure:///<location>/<name>` by the driver.
 * Azure does not tell names apart by case. The VM of a scale set is numbered within it, and is never the driver's.
 */
const compareAzure: Compare = (left, right) => {
  const [a, b] = [lower(left), lower(right)];
  if (equal(a, b)) return 'same';
  const [fullA, fullB] = [a[0] === 'subscriptions', b[0] === 'subscriptions'];
  if (fullA === fullB || last(a) !== last(b)) return 'different';
  return [a, b].some((parts) => parts.includes('virtualmachinescalesets')) ? 'different' : 'alike';
};

/** Ids that only one program writes: they are equal, or they name two VMs. */
const compareExactly: Compare = (a, b) => (equal(a, b) ? 'same' : 'different');

const COMPARE: ReadonlyMap<string, Compare> = new Map([
  ['aws', compareAws],
  ['azure', compareAzure],
  ['gce', compareGce],
  ['local', compareExactly],
  ['', compareExactly],
]);

/** Compares two provider ids. Drivers and cloud controllers write the id of one VM differently. */
export function matchInstances(a: string | undefined, b: string | undefined): InstanceMatch {
  if (!a || !b) return 'unknown';
  const [left, right] = [parse(a), parse(b)];
  if (left.scheme !== right.scheme) return 'unknown';
  return (COMPARE.get(left.scheme) ?? compareAny)(left.parts, right.parts);
}

/** Whether two provider ids may name one VM: nothing in them says that they name two. */
export const sameInstance = (a: string | undefined, b: string | undefined): boolean =>
  matchInstances(a, b) !== 'different';

/** Whether two provider ids name one VM, as far as both tell. An id that cannot be compared names no VM. */
export function isInstance(a: string | undefined, b: string | undefined): boolean {
  const match = matchInstances(a, b);
  return match === 'same' || match === 'alike';
}

/** Like {@link isInstance}; ids of two schemes count when their last parts are equal. For decisions that must not err by "no". */
export function mayBeInstance(a: string | undefined, b: string | undefined): boolean {
  if (!a || !b || !sameInstance(a, b)) return false;
  return last(parse(a).parts).toLowerCase() === last(parse(b).parts).toLowerCase();
}

/** Equal for all ids that {@link isInstance} can hold of: the key of an index. Ids with equal keys must still be compared. */
export function instanceKey(id: string): string {
  const { scheme, parts } = parse(id);
  return `${scheme}:${last(parts).toLowerCase()}`;
}

/** Provider ids of VMs, looked up as {@link isInstance} compares them. */
export class InstanceSet {
  readonly #byKey: ReadonlyMap<string, readonly string[]>;

  constructor(ids: readonly string[]) {
    this.#byKey = Map.groupBy(ids, instanceKey);
  }

  has(id: string): boolean {
    return this.#byKey.get(instanceKey(id))?.some((other) => isInstance(other, id)) ?? false;
  }
}

/** Whether the Node is that of the machine's VM, and not of an earlier or another VM that had the same name. */
export const isNodeOf = (machine: Machine, node: Node): boolean =>
  sameInstance(machine.spec.providerID, node.spec.providerID);

/** Whether the Node points back to the machine. */
export const pointsTo = (node: Node, machine: Machine): boolean =>
  node.metadata.labels?.[Labels.MachineName] === machine.metadata.name;
