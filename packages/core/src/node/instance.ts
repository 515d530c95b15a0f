import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';

/**
 * The relation of the VMs of two provider IDs.
 *
 * - `same`: one VM.
 * - `alike`: the parts that both IDs have are equal, but one ID lacks parts of the other. They may name one VM.
 * - `different`: two VMs.
 * - `unknown`: the IDs cannot be compared, because one is empty or their schemes differ.
 */
export type InstanceMatch = 'same' | 'alike' | 'different' | 'unknown';

interface ProviderId {
  /** In lower case; empty for an ID without a scheme, such as the name of a Pod. */
  readonly scheme: string;
  /** The texts between slashes without empty ones, because clouds use different numbers of slashes. */
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

/** For other clouds only the last part is known to identify the VM. */
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

/**
 * `eu-west-1a` and the local zone `us-west-2-lax-1a` are zones of their regions. `eu-west-12` is not a zone of
 * `eu-west-1`.
 */
const isZoneOf = (zone: string, region: string): boolean =>
  zone.startsWith(region) && /^([a-z]|-.+)$/.test(zone.slice(region.length));

/** `gce://<project>/<zone>/<name>` by the cloud controller, with one slash more by the driver. */
const compareGce: Compare = (a, b) => {
  if (equal(a, b)) return 'same';
  return last(a) === last(b) && (a.length < 3 || b.length < 3) ? 'alike' : 'different';
};

/**
 * `azure:///subscriptions/…/virtualMachines/<name>` by the cloud controller, `azure:///<location>/<name>` by the
 * driver. Names in Azure are case-insensitive. The driver never creates VMs of scale sets, which have a number.
 */
const compareAzure: Compare = (left, right) => {
  const [a, b] = [lower(left), lower(right)];
  if (equal(a, b)) return 'same';
  const [fullA, fullB] = [a[0] === 'subscriptions', b[0] === 'subscriptions'];
  if (fullA === fullB || last(a) !== last(b)) return 'different';
  return [a, b].some((parts) => parts.includes('virtualmachinescalesets')) ? 'different' : 'alike';
};

/** IDs that only one program writes are equal, or belong to two VMs. */
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

/** Returns true if two provider IDs may name one VM, because no part contradicts it. */
export const sameInstance = (a: string | undefined, b: string | undefined): boolean =>
  matchInstances(a, b) !== 'different';

/**
 * Returns true if two provider IDs name one VM, as far as they contain it. An ID that cannot be compared names no VM.
 */
export function isInstance(a: string | undefined, b: string | undefined): boolean {
  const match = matchInstances(a, b);
  return match === 'same' || match === 'alike';
}

/**
 * Like {@link isInstance}, but IDs of two schemes count if their last parts are equal. For decisions in which a false
 * "no" is dangerous.
 */
export function mayBeInstance(a: string | undefined, b: string | undefined): boolean {
  if (!a || !b || !sameInstance(a, b)) return false;
  return last(parse(a).parts).toLowerCase() === last(parse(b).parts).toLowerCase();
}

/**
 * The key of an index, equal for all IDs that {@link isInstance} can match. IDs with equal keys must still be compared.
 */
export function instanceKey(id: string): string {
  const { scheme, parts } = parse(id);
  return `${scheme}:${last(parts).toLowerCase()}`;
}

/** Provider IDs of VMs, compared by {@link isInstance}. */
export class InstanceSet {
  readonly #byKey: ReadonlyMap<string, readonly string[]>;

  constructor(ids: readonly string[]) {
    this.#byKey = Map.groupBy(ids, instanceKey);
  }

  has(id: string): boolean {
    return this.#byKey.get(instanceKey(id))?.some((other) => isInstance(other, id)) ?? false;
  }
}

/** Returns true if the Node belongs to the machine's VM, and not to an earlier or another VM of the same name. */
export const isNodeOf = (machine: Machine, node: Node): boolean =>
  sameInstance(machine.spec.providerID, node.spec.providerID);

/** Returns true if the Node names the machine. */
export const pointsTo = (node: Node, machine: Machine): boolean =>
  node.metadata.labels?.[Labels.MachineName] === machine.metadata.name;
