import { Annotations, formatTime, type MachineClass, machineClasses, parseTime } from '@mcm/api';
import { errorText, keyOf, makeKey } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { Lane } from '../../flow/lane.ts';
import { instanceKey } from '../../node/instance.ts';
import type { OrphanTags } from '../orphan-tags/orphan-tags.ts';
import type { OrphanReconcileOptions } from './orphan-options.ts';
import { isOrphan, machineOfOrphanVm } from './orphan-vms.ts';

/**
 * Parses the annotation with the deletion times of stopped VMs. The function ignores invalid entries of the annotation.
 */
export function stoppedVms({ metadata }: MachineClass): ReadonlyMap<string, Date> {
  const entries = (metadata.annotations?.[Annotations.StoppedVMs] ?? '').split(',').flatMap((entry) => {
    const at = entry.lastIndexOf('=');
    const until = at > 0 ? parseTime(entry.slice(at + 1).trim()) : undefined;
    return until ? [[entry.slice(0, at).trim(), until] as const] : [];
  });
  return new Map(entries);
}

const annotationOf = (vms: ReadonlyMap<string, Date>): string =>
  [...vms]
    .map(([id, until]) => `${id}=${formatTime(until)}`)
    .sort()
    .join(',');

/**
 * Stops orphaned VMs before their deletion. mcm records the deletion time of a stopped VM on the class after the stop.
 * If the process ends before it writes the record, the next process stops the VM again, and deletes it later.
 */
export class StoppedVms {
  readonly #o: OrphanReconcileOptions;
  readonly #lane: Lane;
  readonly #tags: OrphanTags;
  readonly #stopping = new Set<string>();
  readonly #unrecorded = new Map<string, Date>();

  constructor(options: OrphanReconcileOptions, lane: Lane, tags: OrphanTags) {
    this.#o = options;
    this.#lane = lane;
    this.#tags = tags;
  }

  get #stopMs(): number {
    return this.#o.options.stopMs ?? 0;
  }

  planFor({ providerId }: ListedInstance): { readonly forMs: number; readonly until: Date | undefined } | undefined {
    return this.#stopMs > 0 ? { forMs: this.#stopMs, until: this.#untilOf(providerId) } : undefined;
  }

  /** Each class lists all VMs of the cluster, so the number of stopped VMs counts each VM once. */
  count(): number {
    const classes = this.#o.caches.classes.store.list();
    return new Set(classes.flatMap((one) => [...stoppedVms(one).keys()])).size;
  }

  #untilOf(id: string): Date | undefined {
    const known = this.#o.caches.classes.store.list().flatMap((one) => stoppedVms(one).get(id) ?? []);
    return known[0] ?? this.#unrecorded.get(id);
  }

  nextAt(vms: readonly ListedInstance[]): Date | undefined {
    if (this.#stopMs === 0) return undefined;
    const times = vms.flatMap(({ providerId }) => this.#untilOf(providerId)?.getTime() ?? []);
    return times.length > 0 ? new Date(Math.min(...times)) : undefined;
  }

  /** If the driver cannot stop VMs, the VM runs until its deletion time. */
  begin(machineClass: MachineClass, vm: ListedInstance, suspects: readonly ListedInstance[]): void {
    const { clock, log } = this.#o;
    const { providerId, machineName } = vm;
    if (this.#stopping.has(providerId)) return;
    this.#stopping.add(providerId);
    const fields = { providerId, machine: machineName };
    const tagged = this.#tags.beforeStop(machineClass, vm, new Date(clock.now().getTime() + this.#stopMs));
    const stopped = tagged
      ? tagged.then(async () => this.#isStillOrphan(vm) && this.#stop(machineClass, vm))
      : this.#stop(machineClass, vm);
    void stopped
      .then(async (done) => {
        if (!done) return;
        this.#unrecorded.set(providerId, new Date(clock.now().getTime() + this.#stopMs));
        log.warn('Orphan VM stopped', fields);
        await this.record(machineClass, suspects);
      })
      .catch((error: unknown) =>
        log.warn('Cannot stop orphan VM; the next search retries', { ...fields, error: errorText(error) }),
      )
      .finally(() => this.#stopping.delete(providerId));
  }

  async #stop(machineClass: MachineClass, { providerId, machineName }: ListedInstance): Promise<true> {
    const { invoker, clock } = this.#o;
    const orphan = machineOfOrphanVm({ providerId, machineName, machineClass }, clock.now());
    if (invoker.can.stop) await this.#lane.run((leave) => invoker.stop(orphan, false, () => leave()));
    return true;
  }

  /** A user may have created the Machine of the VM during the tag call. The next search decides again. */
  #isStillOrphan(vm: ListedInstance): boolean {
    const { caches, namespace, frozen, stop } = this.#o;
    const { store } = caches.machines;
    const recorders = store.byIndex('instance', instanceKey(vm.providerId));
    return !frozen() && !stop.aborted && isOrphan(vm, store.get(makeKey(namespace, vm.machineName)), recorders);
  }

  async record(machineClass: MachineClass, suspects: readonly ListedInstance[]): Promise<void> {
    const { caches, control, log, options } = this.#o;
    const newest = caches.classes.store.get(keyOf(machineClass));
    if (!newest || options.policy === 'report') return;
    const wanted = annotationOf(this.#wantedOf(suspects));
    const recorded = newest.metadata.annotations?.[Annotations.StoppedVMs] ?? '';
    if (wanted !== recorded) {
      const { name, namespace, uid, resourceVersion } = newest.metadata;
      const annotations = { [Annotations.StoppedVMs]: wanted === '' ? null : wanted };
      const body = { metadata: { uid, resourceVersion, annotations } };
      try {
        const written = await control.resource(machineClasses, namespace).patch(name, { type: 'merge', body });
        caches.classes.recordWrite(written);
      } catch (error) {
        log.warn('Cannot record stopped VMs on their class; the next search retries', {
          class: name,
          error: errorText(error),
        });
        return;
      }
    }
    for (const { providerId } of suspects) this.#unrecorded.delete(providerId);
  }

  #wantedOf(suspects: readonly ListedInstance[]): ReadonlyMap<string, Date> {
    if (this.#stopMs === 0) return new Map();
    return new Map(
      suspects.flatMap(({ providerId }) => {
        const until = this.#untilOf(providerId);
        return until ? [[providerId, until] as const] : [];
      }),
    );
  }
}
