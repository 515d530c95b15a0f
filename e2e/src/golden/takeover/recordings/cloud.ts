import { formatTime, isMachineCode, type Machine } from '@mcm/api';
import { type DriverDefinition, defineDriver, MachineError } from '@mcm/core';
import { type Clock, type KubeClient, nodes, sleep } from '@mcm/kube';
import { z } from 'zod';

const script = z
  .record(z.string(), z.unknown())
  .transform((spec) => Object.fromEntries(Object.entries(spec).map(([key, value]) => [key.toLowerCase(), value])))
  .pipe(
    z.looseObject({
      createerror: z.string().optional(),
      initializeerror: z.string().optional(),
      deleteerror: z.string().optional(),
      createms: z.number().optional(),
      nonode: z.boolean().optional(),
    }),
  );
type Script = z.infer<typeof script>;
const credentials = z.looseObject({});

export interface Pace {
  joinMs(machine: Machine): number;
  leaveMs(machine: Machine): number;
}
export const INSTANT: Pace = { joinMs: () => 0, leaveMs: () => 0 };

const fail = (code: string | undefined): void => {
  if (code) throw new MachineError(isMachineCode(code) ? code : 'Unknown', `the cloud says: ${code}`);
};
const providerIdOf = (name: string): string => `zero:///${name}`;

interface Environment {
  readonly admin: KubeClient;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly onFailure: (error: unknown) => void;
}

export class ScriptedCloud {
  readonly vms = new Set<string>();
  readonly driver: DriverDefinition<Script, z.infer<typeof credentials>>;
  readonly #around: Environment;

  constructor(around: Environment) {
    this.#around = around;
    this.driver = this.#drive();
  }

  #drive(): ScriptedCloud['driver'] {
    const { clock, pace } = this.#around;
    const describe = (name: string) => ({ providerId: providerIdOf(name), nodeName: name });
    return defineDriver({
      name: 'Zero',
      providerSpec: script,
      credentialsSchema: credentials,
      create: async ({ machine, spec, signal }) => {
        const { name } = machine.metadata;
        if (spec.createms) await sleep(clock, spec.createms, signal);
        fail(spec.createerror);
        if (!this.vms.has(name) && !spec.nonode) await this.boot(name, pace.joinMs(machine));
        this.vms.add(name);
        return describe(name);
      },
      initialize: async ({ machine, spec }) => {
        fail(spec.initializeerror);
        return describe(machine.metadata.name);
      },
      status: async ({ machine }) => {
        const { name } = machine.metadata;
        if (!this.vms.has(name)) throw new MachineError('NotFound', `no VM of machine ${name}`);
        return describe(name);
      },
      delete: async ({ machine, spec, signal }) => {
        fail(spec.deleteerror);
        const since =
          clock.now().getTime() - Date.parse(machine.metadata.deletionTimestamp ?? clock.now().toISOString());
        const left = pace.leaveMs(machine) - since;
        if (left > 0) await sleep(clock, left, signal);
        this.vms.delete(machine.metadata.name);
        return undefined;
      },
      list: async () => [...this.vms].map((name) => ({ providerId: providerIdOf(name), machineName: name })),
    });
  }

  async boot(name: string, ms: number): Promise<void> {
    if (ms <= 0) await this.#join(name);
    else
      this.#around.clock.setTimeout(() => {
        if (this.vms.has(name)) void this.#join(name).catch(this.#around.onFailure);
      }, ms);
  }

  /** Simulates the kubelet of a VM: uses the existing Node, or creates a Node that is Ready. */
  async #join(name: string): Promise<void> {
    const resource = this.#around.admin.resource(nodes);
    if ((await resource.list()).items.some((node) => node.metadata.name === name)) return;
    const now = formatTime(this.#around.clock.now());
    const size = { cpu: '4', memory: '16Gi', pods: '110' };
    const times = { lastHeartbeatTime: now, lastTransitionTime: now };
    await resource.create({
      metadata: { name },
      spec: { providerID: providerIdOf(name), taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
      status: {
        capacity: size,
        allocatable: size,
        conditions: [{ type: 'Ready', status: 'True', ...times, reason: 'KubeletReady', message: 'ok' }],
      },
    });
  }
}
