import { Annotations, type MachineClass, machineClasses, parseTime } from '@mcm/api';
import { type KubeClient, keyOf, type Node } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { InstanceSet } from '../../node/instance.ts';
import { compareText } from '../../values/integers.ts';
import type { QuarantineCause } from '../orphan-tags/plan.ts';

/**
 * If more than this percentage of the VMs, and at least `LEAST_MASS` VMs, lost their machines, mcm assumes a mass
 * deletion.
 */
const MASS_PERCENT = 10;
const LEAST_MASS = 2;

export interface QuarantineView {
  readonly machineClass: MachineClass;
  readonly releasedElsewhere?: readonly string[] | undefined;
  readonly quarantinedElsewhere?: readonly string[] | undefined;
  readonly listed: number;
  /**
   * The number of VMs that lost their machine, including unconfirmed orphans. A VM with a Ready Node, or a VM that is
   * too old to come from a failed creation, counts as lost.
   */
  readonly lost: number;
  readonly wentBackAt: Date | undefined;
}

const idsIn = (machineClass: MachineClass, annotation: string): readonly string[] =>
  (machineClass.metadata.annotations?.[annotation] ?? '')
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');

/**
 * Returns the reason for a quarantine of the VM, or undefined if mcm may drain and delete the VM. During a quarantine,
 * mcm keeps the VM until an operator decides. If many machines were removed, or a restored API server has lost
 * machines, operators may still need the VMs.
 */
export function quarantineCause(vm: ListedInstance, view: QuarantineView): QuarantineCause | undefined {
  const { machineClass, quarantinedElsewhere = [], listed, lost, wentBackAt } = view;
  if (isReleased(vm, view)) return undefined;
  const made = parseTime(vm.createdAt);
  if (wentBackAt !== undefined && (made === undefined || made <= wentBackAt)) return 'api-server-restored';
  if (lost >= LEAST_MASS && lost * 100 > listed * MASS_PERCENT) return 'machines-lost';
  // A VM stays in quarantine if this class or another class put the VM into quarantine earlier.
  if (new InstanceSet([...quarantinedVms(machineClass), ...quarantinedElsewhere]).has(vm.providerId))
    return 'already-in-quarantine';
  return undefined;
}

/** Returns the reason for a quarantine as a text, or undefined. */
export function quarantineReason(vm: ListedInstance, view: QuarantineView): string | undefined {
  switch (quarantineCause(vm, view)) {
    case 'api-server-restored':
      return 'the control cluster was restored to an older state';
    case 'machines-lost':
      return `${view.lost} VMs with Nodes lost their Machine objects at the same time`;
    case 'already-in-quarantine':
      return 'the VM was already in quarantine';
    case undefined:
      return undefined;
  }
}

/** mcm deletes a released VM immediately. */
export const isReleased = (
  { providerId }: ListedInstance,
  { machineClass, releasedElsewhere = [] }: Pick<QuarantineView, 'machineClass' | 'releasedElsewhere'>,
): boolean => new InstanceSet([...releasedVms(machineClass), ...releasedElsewhere]).has(providerId);

/** Returns the provider IDs of the class's VMs that are in quarantine. */
export const quarantinedVms = (machineClass: MachineClass): readonly string[] =>
  idsIn(machineClass, Annotations.QuarantinedVMs);

export const releasedVms = (machineClass: MachineClass): readonly string[] =>
  idsIn(machineClass, Annotations.ReleaseVMs);

/** Returns the class that reports a VM: the class in the annotation of its Node, or the first class by name. */
export function reportingClass(classes: readonly MachineClass[], node: Node | undefined): MachineClass | undefined {
  const key = node?.metadata.annotations?.[Annotations.MachineClassOfNode];
  const sorted = classes.toSorted((a, b) => compareText(keyOf(a), keyOf(b)));
  return sorted.find((one) => keyOf(one) === key) ?? sorted[0];
}

export function notedIn(machineClass: MachineClass, vms: readonly ListedInstance[]): readonly string[] {
  const noted = new InstanceSet(quarantinedVms(machineClass));
  return vms.map(({ providerId }) => providerId).filter((id) => noted.has(id));
}

/** The text about a quarantine contains the actions that an operator can take. */
export const quarantineText = ({ providerId, machineName }: ListedInstance, because: string): string =>
  `the VM is in quarantine (${because}). To keep the VM, create Machine ${machineName} again with the same spec.providerID. To delete the VM, add ${providerId} to annotation ${Annotations.ReleaseVMs} of the MachineClass`;

/**
 * Records the VMs in quarantine in an annotation of the class, because mcm needs the list after a restart.
 * @param elsewhere VMs in quarantine on other classes.
 * @throws KubeError
 */
export async function noteQuarantine(
  control: KubeClient,
  machineClass: MachineClass,
  quarantined: readonly string[],
  listed: readonly ListedInstance[],
  elsewhere: readonly string[] = [],
): Promise<MachineClass | undefined> {
  const there = new InstanceSet([...listed.map(({ providerId }) => providerId), ...elsewhere]);
  const released = releasedVms(machineClass);
  const wanted: Readonly<Record<string, string>> = {
    [Annotations.QuarantinedVMs]: quarantined.toSorted().join(','),
    [Annotations.ReleaseVMs]: released.filter((id) => there.has(id)).join(','),
  };
  const annotations = Object.fromEntries(
    Object.entries(wanted)
      .filter(([key, ids]) => ids !== idsIn(machineClass, key).join(','))
      .map(([key, ids]) => [key, ids === '' ? null : ids]),
  );
  if (Object.keys(annotations).length === 0) return undefined;
  const { name, namespace, uid, resourceVersion } = machineClass.metadata;
  const body = { metadata: { uid, resourceVersion, annotations } };
  return control.resource(machineClasses, namespace).patch(name, { type: 'merge', body });
}

export const releasesMore = (old: MachineClass, machineClass: MachineClass): boolean =>
  old.metadata.annotations?.[Annotations.ReleaseVMs] !== machineClass.metadata.annotations?.[Annotations.ReleaseVMs];
