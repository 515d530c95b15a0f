import { isMachineCode } from '@mcm/api';
import { type DriverDefinition, defineDriver, MachineError } from '@mcm/core';
import { type Clock, type KubeClient, nodes, sleep } from '@mcm/kube';
import { z } from 'zod';

/** A class's script of the cloud, whatever the case of its fields. */
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

const fail = (code: string | undefined): void => {
  if (code) throw new MachineError(isMachineCode(code) ? code : 'Unknown', `the cloud says: ${code}`);
};
const providerIdOf = (name: string): string => `zero:///${name}`;

/** The cloud of the recordings: instant, and it fails as the class of a machine says. It joins the nodes too. */
export class ScriptedCloud {
  /** Names of the machines that have a VM. */
  readonly vms = new Set<string>();
  readonly driver: DriverDefinition<Script, z.infer<typeof credentials>>;
  readonly #admin: KubeClient;
  readonly #clock: Clock;

  constructor(admin: KubeClient, clock: Clock) {
    this.#admin = admin;
    this.#clock = clock;
    this.driver = this.#drive();
  }

  #drive(): ScriptedCloud['driver'] {
    const describe = (name: string) => ({ providerId: providerIdOf(name), nodeName: name });
    return defineDriver({
      name: 'Zero',
      providerSpec: script,
      credentialsSchema: credentials,
      create: async ({ machine, spec, signal }) => {
        const { name } = machine.metadata;
        if (spec.createms) await sleep(this.#clock, spec.createms, signal);
        fail(spec.createerror);
        this.vms.add(name);
        if (!spec.nonode) await this.#join(name);
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
      delete: async ({ machine, spec }) => {
        fail(spec.deleteerror);
        this.vms.delete(machine.metadata.name);
        return undefined;
      },
      list: async () => [...this.vms].map((name) => ({ providerId: providerIdOf(name), machineName: name })),
    });
  }

  /** The kubelet of a VM makes its Node, Ready at once, or finds it. */
  async #join(name: string): Promise<void> {
    const resource = this.#admin.resource(nodes);
    if ((await resource.list()).items.some((node) => node.metadata.name === name)) return;
    const now = `${this.#clock.now().toISOString().slice(0, 19)}Z`;
    const size = { cpu: '4', memory: '16Gi', pods: '110' };
    await resource.create({
      metadata: { name },
      spec: { providerID: providerIdOf(name), taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
      status: {
        capacity: size,
        allocatable: size,
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            lastHeartbeatTime: now,
            lastTransitionTime: now,
            reason: 'KubeletReady',
            message: 'ok',
          },
        ],
      },
    });
  }
}
