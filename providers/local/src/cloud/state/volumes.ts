import type { Instance, Volume } from '../../machine/model.ts';
import { CloudError, notFound } from '../context/errors.ts';
import { type CloudContext, makeId } from '../context/settings.ts';
import { requireVolumeRoom } from './quotas.ts';
import type { CloudState } from './state.ts';
import { mergeTags } from './tags.ts';
import type { Waiters } from './waiters.ts';

export interface VolumeRequest {
  readonly name: string;
  readonly zone: string;
  readonly sizeGi: number;
  readonly tags: Readonly<Record<string, string>>;
}

export class Volumes {
  readonly #context: CloudContext;
  readonly #state: CloudState;
  readonly #waiters: Waiters;
  #closed = false;

  constructor(context: CloudContext, parts: { state: CloudState; waiters: Waiters }) {
    this.#context = context;
    this.#state = parts.state;
    this.#waiters = parts.waiters;
  }

  resume(): void {
    for (const volume of this.#state.volumes.values()) if (volume.settlesAt !== undefined) this.#arm(volume);
  }

  close(): void {
    this.#closed = true;
  }

  /** @throws {CloudError} InvalidParameter, QuotaExceeded */
  create(request: VolumeRequest): Volume {
    const { zones } = this.#context;
    if (!zones.includes(request.zone))
      throw new CloudError(
        'InvalidParameter',
        `zone: ${JSON.stringify(request.zone)} is not one of ${zones.join(', ')}.`,
      );
    requireVolumeRoom(this.#state);
    const volume: Volume = { ...this.#draft(request), deleteOnTermination: false, state: 'available' };
    this.#state.saveVolume(volume);
    return volume;
  }

  /** Creates the disk of an instance. The quota check of the instance has already included the disk. */
  createAttached(
    instance: Instance,
    request: { readonly sizeGi: number; readonly tags?: Readonly<Record<string, string>> },
  ): void {
    const draft = this.#draft({ name: instance.name, zone: instance.zone, tags: {}, ...request });
    this.#state.saveVolume({ ...draft, deleteOnTermination: true, state: 'attached', instanceId: instance.id });
  }

  #draft(request: VolumeRequest): Omit<Volume, 'deleteOnTermination' | 'state'> {
    return {
      id: makeId('vol', this.#context.random),
      name: request.name,
      zone: request.zone,
      sizeGi: request.sizeGi,
      createdAt: this.#context.clock.now().toISOString(),
      tags: { ...request.tags },
    };
  }

  /** @throws {CloudError} NotFound */
  get(id: string): Volume {
    const volume = this.#state.volumes.get(id);
    if (!volume) throw notFound('volume', id);
    return volume;
  }

  list(): Iterable<Volume> {
    return this.#state.volumes.values();
  }

  /**
   * @throws {CloudError} NotFound, ResourceInUse, IncorrectState, InvalidParameter if the instance is in another zone
   */
  attach(id: string, instanceId: string): Volume {
    const volume = this.get(id);
    const instance = this.#state.instances.get(instanceId);
    if (!instance) throw notFound('instance', instanceId);
    if (instance.state !== 'running' && instance.state !== 'pending')
      throw new CloudError('IncorrectState', `Instance ${instanceId} is ${instance.state}.`);
    if (instance.zone !== volume.zone)
      throw new CloudError(
        'InvalidParameter',
        `Volume ${id} is in zone ${volume.zone}, but the instance is in zone ${instance.zone}.`,
      );
    if (volume.instanceId === instanceId && volume.state !== 'detaching') return volume;
    if (volume.state !== 'available')
      throw new CloudError('ResourceInUse', `Volume ${id} is ${volume.state} (instance ${volume.instanceId}).`);
    volume.instanceId = instanceId;
    this.#begin(volume, 'attaching');
    return volume;
  }

  /** Detaches a volume. A volume that is not attached stays unchanged. */
  detach(id: string): Volume {
    const volume = this.get(id);
    if (volume.state === 'attached' || volume.state === 'attaching') this.#begin(volume, 'detaching');
    return volume;
  }

  /** @throws {CloudError} NotFound, ResourceInUse if the volume is attached */
  delete(id: string): void {
    const volume = this.get(id);
    if (volume.state !== 'available')
      throw new CloudError('ResourceInUse', `Volume ${id} is ${volume.state} (instance ${volume.instanceId}).`);
    this.#state.forgetVolume(volume);
    this.#waiters.notify(id);
  }

  setTags(id: string, tags: Readonly<Record<string, string | null>>): Volume {
    const volume = this.get(id);
    volume.tags = mergeTags(volume.tags, tags);
    this.#state.saveVolume(volume);
    return volume;
  }

  /**
   * Handles the volumes of a terminated instance. The disks of the instance are deleted, and all other volumes are
   * detached.
   */
  release(instanceId: string): void {
    for (const volume of this.#state.volumesOf(instanceId)) {
      if (volume.deleteOnTermination) this.#state.forgetVolume(volume);
      else this.#finish(volume, 'available');
      this.#waiters.notify(volume.id);
    }
  }

  #begin(volume: Volume, state: 'attaching' | 'detaching'): void {
    const due = this.#context.clock.now().getTime() + this.#context.latencies.volumeMs;
    volume.state = state;
    volume.settlesAt = new Date(due).toISOString();
    this.#state.saveVolume(volume);
    this.#arm(volume);
  }

  #arm(volume: Volume): void {
    const { settlesAt } = volume;
    const delay = (): number => (Date.parse(settlesAt ?? '') || 0) - this.#context.clock.now().getTime();
    const look = (): void => {
      // If a later change has started, this timer does nothing, because the later change has its own timer.
      if (volume.settlesAt !== settlesAt) return;
      // A timer can fire too early because of rounding or a changed clock.
      if (delay() > 0) this.#context.clock.setTimeout(look, delay());
      else this.#settle(volume);
    };
    this.#context.clock.setTimeout(look, Math.max(0, delay()));
  }

  #settle(volume: Volume): void {
    if (this.#closed || this.#state.volumes.get(volume.id) !== volume || volume.settlesAt === undefined) return;
    this.#finish(volume, volume.state === 'attaching' ? 'attached' : 'available');
    this.#waiters.notify(volume.id);
  }

  #finish(volume: Volume, state: 'attached' | 'available'): void {
    volume.state = state;
    delete volume.settlesAt;
    if (state === 'available') delete volume.instanceId;
    this.#state.saveVolume(volume);
  }
}
