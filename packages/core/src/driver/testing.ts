import { withoutUndefined } from '@mcm/kube';
import { z } from 'zod';
import { isInstance } from '../node/instance.ts';
import type {
  CreatedInstance,
  FoundInstance,
  Instance,
  InterruptionNotice,
  InterruptionRequest,
  MachineRequest,
  TagRequest,
  VolumeSource,
} from './contract/driver.ts';
import { type MachineCode, MachineError } from './contract/errors.ts';
import { isOthers, OWNER_TAG } from './contract/owner.ts';
import { listedTags, splitTagChanges } from './contract/tags.ts';
import type { AlternativeRules } from './offerings/rules.ts';
import { type DriverDefinition, defineDriver } from './schemas/define-driver.ts';
import { bytesOf } from './secrets/secret-value.ts';

/** A VM of the fake cloud. */
export interface FakeVm {
  readonly providerId: string;
  readonly nodeName: string;
  readonly machineName: string;
  readonly uid: string;
  readonly userData: string;
  readonly userDataBytes: Uint8Array;
  readonly createdAt?: string;
  readonly owner?: string;
  ending?: string;
  initialized: boolean;
  stopped?: boolean;
  tags?: Readonly<Record<string, string>>;
  readonly offering: string;
}

/**
 * Returns the provider ID that the cloud controller manager of the fake cloud writes to the Node. The provider ID on
 * the Node contains the zone, and differs from the provider ID of the driver.
 */
export const controllerIdOf = (providerId: string): string => providerId.replace('fake:///zone/', 'fake://zone-1a/');

/** The calls of a fake driver. */
export type FakeMethod =
  | 'create'
  | 'initialize'
  | 'status'
  | 'stop'
  | 'start'
  | 'tag'
  | 'delete'
  | 'list'
  | 'evidence'
  | 'watchInterruptions';

/** A failure that the fake driver simulates in a later call. */
export interface FakeFailure {
  readonly code: MachineCode;
  readonly message?: string;
  readonly retryAfterMs?: number;
  readonly after?: boolean;
}

/** Options of the fake cloud. */
export interface FakeCloudOptions {
  readonly initializes?: boolean;
  /** Called at the start of each call and before each response, so that a test can wait, throw or stop the process. */
  readonly gate?: (method: FakeMethod, point: 'before' | 'after', machineName: string) => Promise<void> | void;
  readonly accepts?: (credentials: Readonly<Record<string, unknown>>, machineName: string) => boolean;
  readonly console?: (vm: FakeVm) => string;
  readonly nodeName?: (machineName: string) => string;
  readonly hides?: (vm: FakeVm) => boolean;
  readonly stops?: boolean;
  /** Whether the driver has the method `tag`. */
  readonly tags?: boolean;
  readonly onPower?: (vm: FakeVm) => void;
  readonly onCreated?: (vm: FakeVm) => void;
  readonly onDeleted?: (vm: FakeVm) => void;
  readonly announces?: boolean;
  readonly room?: (offering: string) => boolean;
  readonly zonal?: boolean;
  readonly now?: () => string;
}

const spec = z.looseObject({ size: z.string().optional(), zone: z.string().optional() });

type FakeSpec = z.infer<typeof spec>;

const offeringOf = ({ size = '', zone = '' }: FakeSpec): string => `${size} ${zone}`.trim();
const credentials = z.looseObject({ userData: z.string().optional(), key: z.string().optional() });

/** The driver of the fake cloud, for tests. */
export type FakeDriver = DriverDefinition<z.infer<typeof spec>, z.infer<typeof credentials>>;

/** A cloud in memory for tests. Tests should check `vms` and `made` instead of the calls. */
export class FakeCloud {
  readonly #options: FakeCloudOptions;
  readonly #vms = new Map<string, FakeVm>();
  readonly #failures = new Map<FakeMethod, FakeFailure[]>();
  /** Every VM that was ever created, so that a test can find two VMs with one UID. */
  readonly made: FakeVm[] = [];
  readonly calls: Record<FakeMethod, number> = {
    create: 0,
    initialize: 0,
    status: 0,
    stop: 0,
    start: 0,
    tag: 0,
    delete: 0,
    list: 0,
    evidence: 0,
    watchInterruptions: 0,
  };
  readonly notices: InterruptionNotice[] = [];
  #announced = Promise.withResolvers<void>();
  readonly asked: { readonly machine: string; readonly offering: string; readonly refused: boolean }[] = [];
  #next = 0;

  constructor(options: FakeCloudOptions = {}) {
    this.#options = options;
  }

  get vms(): readonly FakeVm[] {
    return [...this.#vms.values()];
  }

  /** Lets one later call of the method fail. */
  fail(method: FakeMethod, ...failures: readonly FakeFailure[]): this {
    this.#failures.set(method, [...(this.#failures.get(method) ?? []), ...failures]);
    return this;
  }

  recover(): void {
    this.#failures.clear();
  }

  plant(machineName: string, createdAt?: string, providerId?: string, owner?: string): FakeVm {
    return this.#make(machineName, `planted-${this.#next}`, new Uint8Array(), createdAt, providerId, owner);
  }

  /** Adds interruption notices to the queue of the cloud. */
  announce(...notices: readonly InterruptionNotice[]): void {
    this.notices.push(...notices);
    this.#announced.resolve();
    this.#announced = Promise.withResolvers<void>();
  }

  async #watch({ notify, signal }: InterruptionRequest<unknown, unknown>): Promise<void> {
    await this.#options.gate?.('watchInterruptions', 'before', '');
    this.calls.watchInterruptions++;
    const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    if (this.notices.length === 0) await Promise.race([this.#announced.promise, ended]);
    for (const notice of [...this.notices]) {
      if ((await notify(notice)) === 'later') continue;
      await this.#options.gate?.('watchInterruptions', 'after', '');
      this.notices.splice(this.notices.indexOf(notice), 1);
    }
  }

  lose(machineName: string): void {
    for (const [id, vm] of this.#vms) if (vm.machineName === machineName) this.#vms.delete(id);
  }

  #make(
    machineName: string,
    uid: string,
    userData: Uint8Array,
    createdAt = this.#options.now?.(),
    providerId = `fake:///zone/vm-${this.#next++}`,
    owner?: string,
    offering = '',
  ): FakeVm {
    const vm: FakeVm = {
      providerId,
      nodeName: this.#options.nodeName?.(machineName) ?? machineName,
      machineName,
      uid,
      userData: bytesOf(userData).toString('utf8'),
      userDataBytes: userData,
      initialized: !this.#options.initializes,
      offering,
      ...(createdAt === undefined ? {} : { createdAt }),
      ...(owner === undefined ? {} : { owner }),
    };
    this.#vms.set(vm.providerId, vm);
    this.made.push(vm);
    return vm;
  }

  async #call<T>(
    method: FakeMethod,
    {
      machine,
      credentials,
    }: Pick<MachineRequest<unknown, object>, 'credentials'> & Partial<Pick<MachineRequest<unknown, object>, 'machine'>>,
    effect: () => T,
  ): Promise<T> {
    const machineName = machine?.metadata.name ?? '';
    this.calls[method]++;
    await this.#options.gate?.(method, 'before', machineName);
    if (this.#options.accepts?.(credentials as Record<string, unknown>, machineName) === false)
      throw new MachineError('Unauthenticated', 'the cloud refuses these credentials');
    const failure = this.#failures.get(method)?.shift();
    if (failure && !failure.after) throw failureError(failure);
    const result = effect();
    await this.#options.gate?.(method, 'after', machineName);
    if (failure) throw failureError(failure);
    return result;
  }

  /** A machine without a provider ID is looked up by its name, as in real clouds. */
  #look({ machine, owner, formerOwners, spec }: MachineRequest<FakeSpec, unknown>): readonly FakeVm[] {
    const { uid, name } = machine.metadata;
    const found = this.#find(uid, machine.spec.providerID);
    const known = found && this.#sees(spec, found) ? found : undefined;
    if (known || machine.spec.providerID) return known ? [known] : [];
    return this.vms.filter(
      (vm) =>
        vm.machineName === name &&
        !this.#options.hides?.(vm) &&
        this.#sees(spec, vm) &&
        !isOthers({ machine, owner, formerOwners }, vm.owner === undefined ? {} : { [OWNER_TAG]: vm.owner }),
    );
  }

  #sees({ zone = '' }: FakeSpec, { offering }: FakeVm): boolean {
    return !this.#options.zonal || offering.split(' ')[1] === zone;
  }

  #find(uid: string, providerId: string | undefined): FakeVm | undefined {
    const byId = this.vms.find((vm) => isInstance(vm.providerId, providerId));
    return byId ?? this.vms.find((vm) => vm.uid === uid);
  }

  #power(method: 'stop' | 'start', request: MachineRequest<FakeSpec, object>): Promise<void> {
    return this.#call(method, request, () => {
      const { machine } = request;
      const vm = this.#find(machine.metadata.uid, machine.spec.providerID);
      if (!vm) throw new MachineError('NotFound', `no VM of machine ${machine.metadata.name}`);
      const stopped = method === 'stop';
      if (Boolean(vm.stopped) === stopped) return;
      if (!stopped && this.#options.room?.(vm.offering) === false)
        throw new MachineError('ResourceExhausted', `no capacity for ${vm.offering}`);
      vm.stopped = stopped;
      this.#options.onPower?.(vm);
    });
  }

  #tag(request: TagRequest<FakeSpec, object>): Promise<void> {
    return this.#call('tag', request, () => {
      const { machine, tags: changes } = request;
      const vm = this.#find(machine.metadata.uid, machine.spec.providerID);
      if (!vm) return;
      const { set, remove } = splitTagChanges(changes, vm.tags ?? {});
      const kept = Object.entries(vm.tags ?? {}).filter(([key]) => !remove.includes(key));
      vm.tags = { ...Object.fromEntries(kept), ...set };
    });
  }

  driver(): FakeDriver {
    const { initializes } = this.#options;
    const base: FakeDriver = {
      name: 'fake',
      providerSpec: spec,
      credentialsSchema: credentials,
      alternatives: ALTERNATIVES,
      create: (request) =>
        this.#call('create', request, (): CreatedInstance => {
          const { machine, userData, owner } = request;
          const found = this.#find(machine.metadata.uid, undefined);
          if (found && this.#sees(request.spec, found)) return instance(found);
          const { name, uid } = machine.metadata;
          const offering = offeringOf(request.spec);
          const refused = this.#options.room?.(offering) === false;
          this.asked.push({ machine: name, offering, refused });
          if (refused) throw new MachineError('ResourceExhausted', `no capacity for ${offering}`);
          const vm = this.#make(name, uid, userData, undefined, undefined, owner, offering);
          this.#options.onCreated?.(vm);
          return instance(vm);
        }),
      status: (request) =>
        this.#call('status', request, () => {
          const [vm, ...others] = this.#look(request);
          const found = [...(vm ? [vm] : []), ...others].map(foundInstance);
          if (!vm) throw new MachineError('NotFound', `no VM of machine ${request.machine.metadata.name}`);
          if (others.length > 0) throw new MachineError('OutOfRange', 'several VMs have its name', { found });
          if (!vm.initialized)
            throw new MachineError('Uninitialized', `VM ${vm.providerId} is not initialised`, { found });
          return foundInstance(vm);
        }),
      delete: (request) =>
        this.#call('delete', request, () => {
          const { machine } = request;
          const vm = this.#find(machine.metadata.uid, machine.spec.providerID);
          const byId = machine.spec.providerID !== undefined;
          if (!vm || !(byId || this.#sees(request.spec, vm))) return undefined;
          this.#vms.delete(vm.providerId);
          this.#options.onDeleted?.(vm);
          return {};
        }),
      list: (request) =>
        this.#call('list', request, () =>
          this.vms
            .filter((vm) => !this.#options.hides?.(vm) && this.#sees(request.spec, vm))
            .map(({ providerId, machineName, createdAt, owner, tags }) => ({
              providerId,
              machineName,
              ...(createdAt === undefined ? {} : { createdAt }),
              ...(owner === undefined ? {} : { owner }),
              ...listedTags(tags, request.tagKeys),
            })),
        ),
    };
    const { announces, console, stops, tags } = this.#options;
    const power: Partial<FakeDriver> = stops
      ? {
          stop: (request) => this.#power('stop', request),
          start: (request) => this.#power('start', request),
          hibernates: true,
        }
      : {};
    const tagging: Pick<FakeDriver, 'tag'> = tags ? { tag: (request) => this.#tag(request) } : {};
    const watching: Pick<FakeDriver, 'watchInterruptions'> = announces
      ? { watchInterruptions: (request) => this.#watch(request) }
      : {};
    const evidence: FakeDriver['evidence'] =
      console &&
      ((request) =>
        this.#call('evidence', request, () => {
          const { machine } = request;
          const vm = this.#find(machine.metadata.uid, machine.spec.providerID);
          if (!vm) throw new MachineError('NotFound', `no VM of machine ${machine.metadata.name}`);
          return { state: 'running', console: console(vm) };
        }));
    const volumeIds = (sources: readonly VolumeSource[]) => sources.map(volumeId);
    if (!initializes)
      return defineDriver({ ...base, volumeIds, ...watching, ...power, ...tagging, ...(evidence ? { evidence } : {}) });
    return defineDriver({
      ...base,
      volumeIds,
      ...watching,
      ...power,
      ...tagging,
      ...(evidence ? { evidence } : {}),
      initialize: (request) =>
        this.#call('initialize', request, () => {
          const { machine } = request;
          const vm = this.#find(machine.metadata.uid, machine.spec.providerID);
          if (!vm) throw new MachineError('NotFound', `no VM of machine ${machine.metadata.name}`);
          vm.initialized = true;
          return instance(vm);
        }),
    });
  }
}

const ALTERNATIVES: AlternativeRules<FakeSpec> = {
  fields: ['machineType', 'zone'],
  apply: (base, { machineType: size, zone }) => ({ ...base, ...withoutUndefined({ size, zone }) }),
  problem: (_, { zone }) => (zone === 'mars' ? 'zone: mars is not a zone; write a zone of the region' : undefined),
  offering: ({ size: machineType = '', zone = '' }) => ({ region: '', zone, subnet: '', machineType, market: '' }),
  listing: ({ zone = '' }) => zone,
};

const volumeId = ({ csi, awsElasticBlockStore }: VolumeSource): string | undefined =>
  csi?.volumeHandle ?? inTree.safeParse(awsElasticBlockStore).data?.volumeID;

const inTree = z.object({ volumeID: z.string() });

const instance = ({ providerId, nodeName }: FakeVm): Instance => ({
  providerId,
  nodeName,
  addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
});

const foundInstance = (vm: FakeVm): FoundInstance => ({
  ...instance(vm),
  ...(vm.createdAt === undefined ? {} : { createdAt: vm.createdAt }),
  ...(vm.ending === undefined && !vm.stopped ? {} : { ending: vm.ending ?? 'stopped' }),
});

const failureError = ({ code, message, retryAfterMs }: FakeFailure): MachineError =>
  new MachineError(code, message ?? `the cloud says: ${code}`, retryAfterMs === undefined ? {} : { retryAfterMs });
