import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';

/**
 * The result of the comparison of two provider IDs:
 * - `same`: the IDs belong to one VM.
 * - `alike`: the common parts are equal, but one ID has fewer parts, so the IDs may belong to one VM.
 * - `different`: the IDs belong to two VMs.
 * - `unknown`: the IDs cannot be compared, because one ID is empty or the schemes differ.
 */
export type InstanceMatch = 'same' | 'alike' | 'different' | 'unknown';

interface ProviderId {
  /** The scheme of the provider ID in lower case, or '' for an ID without a scheme, such as the name of a Pod. */
  readonly scheme: string;
  /** Clouds use different numbers of slashes in a provider ID, so empty parts are omitted. */
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

type Compare = (a: readonly string[], b: readonly string[]) => InstanceMatch;

/** Compares provider IDs of clouds without a specific rule: only the last part identifies the VM. */
const compareAny: Compare = (a, b) => {
  if (equal(a, b)) return 'same';
  return last(a).toLowerCase() === last(b).toLowerCase() ? 'alike' : 'different';
};

/**
 * For AWS, the cloud controller manager writes `aws:///<zone>/<id>`, and the driver writes `aws:///<region>/<id>` or
 * `aws:///<id>`.
 */
const compareAws: Compare = (a, b) => {
  if (equal(a, b)) return 'same';
  if (last(a) !== last(b) || a.length > 2 || b.length > 2) return 'different';
  const [placeA, placeB] = [a.at(-2), b.at(-2)];
  if (placeA === undefined || placeB === undefined) return 'alike';
  return isZoneOf(placeA, placeB) || isZoneOf(placeB, placeA) ? 'same' : 'different';
};

/**
 * The zone `eu-west-1a` belongs to the region `eu-west-1`, and the local zone `us-west-2-lax-1a` to `us-west-2`. The
 * zone `eu-west-12` does not belong to the region `eu-west-1`.
 */
const isZoneOf = (zone: string, region: string): boolean =>
  zone.startsWith(region) && /^([a-z]|-.+)$/.test(zone.slice(region.length));

/**
 * For Google Cloud, the cloud controller manager writes `gce://<project>/<zone>/<name>`, and the driver writes one more
 * slash.
 */
const compareGce: Compare = (a, b) => {
  if (equal(a, b)) return 'same';
  return last(a) === last(b) && (a.length < 3 || b.length < 3) ? 'alike' : 'different';
};

/**
 * For Azure, the cloud controller manager writes `azure:///subscriptions/…/virtualMachines/<name>`, and the driver
 * writes `azure:///<location>/<name>`. Names in Azure are case-insensitive. The driver for Azure never creates VMs of
 * scale sets, whose names have another form.
 */
const compareAzure: Compare = (left, right) => {
  const [a, b] = [lower(left), lower(right)];
  if (equal(a, b)) return 'same';
  const [fullA, fullB] = [a[0] === 'subscriptions', b[0] === 'subscriptions'];
  if (fullA === fullB || last(a) !== last(b)) return 'different';
  return [a, b].some((parts) => parts.includes('virtualmachinescalesets')) ? 'different' : 'alike';
};

/** Compares provider IDs of a cloud in which one program writes all provider IDs. */
const compareExactly: Compare = (a, b) => (equal(a, b) ? 'same' : 'different');

const COMPARE: ReadonlyMap<string, Compare> = new Map([
  ['aws', compareAws],
  ['azure', compareAzure],
  ['gce', compareGce],
  ['local', compareExactly],
  ['', compareExactly],
]);

/** Drivers and cloud controller managers may write the ID of one VM in different forms. */
export function matchInstances(a: string | undefined, b: string | undefined): InstanceMatch {
  if (!a || !b) return 'unknown';
  const [left, right] = [parse(a), parse(b)];
  if (left.scheme !== right.scheme) return 'unknown';
  return (COMPARE.get(left.scheme) ?? compareAny)(left.parts, right.parts);
}

/**
 * Returns false only if the provider IDs belong to two different VMs. IDs that cannot be compared count as equal in
 * `sameInstance`.
 */
export const sameInstance = (a: string | undefined, b: string | undefined): boolean =>
  matchInstances(a, b) !== 'different';

/**
 * Returns true if the provider IDs probably belong to one VM. IDs that cannot be compared count as different in
 * `isInstance`.
 */
export function isInstance(a: string | undefined, b: string | undefined): boolean {
  const match = matchInstances(a, b);
  return match === 'same' || match === 'alike';
}

/**
 * Returns true if two provider IDs may belong to one VM. IDs with different schemes match in `mayBeInstance` if their
 * last parts are equal. Callers use `mayBeInstance` if a wrong `false` would cause damage.
 */
export function mayBeInstance(a: string | undefined, b: string | undefined): boolean {
  if (!a || !b || !sameInstance(a, b)) return false;
  return last(parse(a).parts).toLowerCase() === last(parse(b).parts).toLowerCase();
}

/**
 * Returns an index key for a provider ID. If {@link isInstance} is true for two IDs, their keys are equal. Different
 * VMs can have equal index keys.
 */
export function instanceKey(id: string): string {
  const { scheme, parts } = parse(id);
  return `${scheme}:${last(parts).toLowerCase()}`;
}

/** A set of provider IDs that uses {@link isInstance} to compare the IDs. */
export class InstanceSet {
  readonly #byKey: ReadonlyMap<string, readonly string[]>;

  constructor(ids: readonly string[]) {
    this.#byKey = Map.groupBy(ids, instanceKey);
  }

  has(id: string): boolean {
    return this.#byKey.get(instanceKey(id))?.some((other) => isInstance(other, id)) ?? false;
  }
}

/**
 * Returns true if the Node may belong to the VM of the machine. The function compares provider IDs, because the Node of
 * an earlier VM can have an equal name.
 */
export const isNodeOf = (machine: Machine, node: Node): boolean =>
  sameInstance(machine.spec.providerID, node.spec.providerID);

export const pointsTo = (node: Node, machine: Machine): boolean =>
  node.metadata.labels?.[Labels.MachineName] === machine.metadata.name;
