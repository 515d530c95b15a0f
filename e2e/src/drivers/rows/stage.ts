import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import {
  bytesOf,
  type CreatedInstance,
  type DriverDefinition,
  decodeInput,
  type Instance,
  type ListedInstance,
  MachineError,
  type TagChanges,
} from '@mcm/core';
import { defined, silentLogger, type VirtualClock } from '@mcm/kube';
import { expect } from 'vitest';

export interface Given {
  readonly provider?: string;
  readonly spec?: unknown;
  readonly secret?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly providerID?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly userData?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

const CREATED = '2026-01-01T00:00:00Z';

/** Calls a driver as the core does. */
export class Stage<Spec, Credentials> {
  readonly clock: VirtualClock;
  readonly #driver: DriverDefinition<Spec, Credentials>;
  readonly #base: {
    readonly provider: string;
    readonly spec: object;
    readonly secret: Readonly<Record<string, string>>;
  };

  #power: string | undefined;

  constructor(
    clock: VirtualClock,
    driver: DriverDefinition<Spec, Credentials>,
    base: { readonly provider: string; readonly spec: object; readonly secret: Readonly<Record<string, string>> },
  ) {
    this.clock = clock;
    this.#driver = driver;
    this.#base = base;
  }

  create(given: Given = {}): Promise<CreatedInstance> {
    const { secret = this.#base.secret } = given;
    return this.#ended(async () => {
      const request = this.#request('create', given);
      return this.#driver.create({ ...request, userData: bytesOf(given.userData ?? secret.userData ?? '') });
    });
  }

  initialize(given: Given = {}): Promise<Instance> {
    return this.#ended(async () => {
      if (!this.#driver.initialize) throw new MachineError('Unimplemented', 'the driver has no method initialize');
      return this.#driver.initialize(this.#request('initialize', given));
    });
  }

  status(given: Given = {}): Promise<Instance> {
    return this.#ended(async () => {
      if (!this.#driver.status) throw new MachineError('Unimplemented', 'the driver has no method status');
      return this.#driver.status(this.#request('status', given));
    });
  }

  get canStop(): boolean {
    return this.#driver.stop !== undefined;
  }

  stop(given: Given = {}, hibernate = false): Promise<unknown> {
    return this.#ended(async () => {
      if (!this.#driver.stop) throw new MachineError('Unimplemented', 'the driver has no method stop');
      this.#power = `Stopping ${CREATED}`;
      return this.#driver.stop({ ...this.#request('stop', given), hibernate });
    });
  }

  start(given: Given = {}): Promise<unknown> {
    return this.#ended(async () => {
      if (!this.#driver.start) throw new MachineError('Unimplemented', 'the driver has no method start');
      this.#power = `Starting ${CREATED}`;
      return this.#driver.start(this.#request('start', given));
    });
  }

  tag(tags: TagChanges, given: Given = {}): Promise<unknown> {
    return this.#ended(async () => {
      if (!this.#driver.tag) throw new MachineError('Unimplemented', 'the driver has no method tag');
      return this.#driver.tag({ ...this.#request('tag', given), tags });
    });
  }

  delete(given: Given = {}): Promise<unknown> {
    return this.#ended(async () => this.#driver.delete(this.#request('delete', given)));
  }

  list(given: Given = {}, tagKeys?: readonly string[]): Promise<readonly ListedInstance[]> {
    return this.#ended(async () => {
      if (!this.#driver.list) throw new MachineError('Unimplemented', 'the stored value is not a list');
      return this.#driver.list({ ...this.#request('list', given), tagKeys });
    });
  }

  /** Returns all driver methods that read the class, by name. */
  all(given: Given): Readonly<Record<'create' | 'delete' | 'status' | 'list', () => Promise<unknown>>> {
    return {
      create: () => this.create(given),
      delete: () => this.delete(given),
      status: () => this.status(given),
      list: () => this.list(given),
    };
  }

  #request(call: 'create' | 'initialize' | 'status' | 'stop' | 'start' | 'tag' | 'delete' | 'list', given: Given) {
    const { provider, spec, secret } = { ...this.#base, ...given };
    const metadata = { namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: CREATED };
    const machineClass: MachineClass = {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'MachineClass',
      metadata: { ...metadata, name: 'c' },
      provider,
      secretRef: { name: 's', namespace: 'n' },
      providerSpec: spec as MachineClass['providerSpec'],
    };
    const { name = 'm-1', providerID, annotations, signal = new AbortController().signal } = given;
    const machine: Machine = {
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'Machine',
      metadata: defined({
        ...metadata,
        name,
        uid: `uid-${name}`,
        annotations: this.#power === undefined ? undefined : { [Annotations.WarmPower]: this.#power },
      }),
      spec: defined({
        class: { kind: 'MachineClass', name: 'c' },
        providerID,
        nodeTemplate: annotations ? { metadata: { annotations } } : undefined,
      }),
    };
    const data = { ...secret };
    const input = call === 'list' ? { call, machineClass, data } : { call, machineClass, data, machine };
    const decoded = decodeInput(this.#driver, input);
    return { machineClass, machine, ...decoded, signal, log: silentLogger };
  }

  #ended<T>(call: () => Promise<T>): Promise<T> {
    return this.clock.ended(call(), { maxMs: 3_600_000 });
  }
}

export async function refused(call: Promise<unknown>, code: string, ...words: readonly string[]): Promise<string> {
  const thrown = await call.then(
    (value) => expect.fail(`the call succeeded: ${JSON.stringify(value)}`),
    (error: unknown) => MachineError.from(error),
  );
  expect(thrown.code, thrown.message).toBe(code);
  for (const word of words) expect(thrown.message).toContain(word);
  return thrown.message;
}

/** Returns the provider spec with changes at its top level. */
export const withSpec = (spec: object, change: object): object => JSON.parse(JSON.stringify({ ...spec, ...change }));
