import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import { ignoreNotFound, type KubeClient, type KubeObject, type ResourceDefinition } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import type { Dice } from '../script/dice.ts';
import { follow } from '../verifiers/follow.ts';
import { NAMESPACE, type World } from '../world/world.ts';
import { MOST_WARM } from '../world/world-options.ts';
import type { Feature, OptIn } from './feature.ts';

interface Buffer extends KubeObject {
  readonly spec: { readonly podTemplateRef: { readonly name: string }; readonly replicas: number };
}

interface Template extends KubeObject {
  readonly template: object;
}

const buffers: ResourceDefinition<Buffer> = {
  group: 'autoscaling.x-k8s.io',
  version: 'v1beta1',
  plural: 'capacitybuffers',
  kind: 'CapacityBuffer',
  namespaced: true,
};

const templates: ResourceDefinition<Template> = {
  group: '',
  version: 'v1',
  plural: 'podtemplates',
  kind: 'PodTemplate',
  namespaced: true,
};

const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${buffers.plural}.${buffers.group}` },
  spec: {
    group: buffers.group,
    names: { plural: buffers.plural, singular: 'capacitybuffer', kind: buffers.kind, listKind: 'CapacityBufferList' },
    scope: 'Namespaced',
    versions: [
      {
        name: buffers.version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
} as const;

const NAME = 'web';
const TEMPLATE = 'pod';
const CAPACITY = { cpu: '2', memory: '8Gi', gpu: '0' };
const PODS_A_MACHINE: Readonly<Record<string, number>> = { '1500m': 1, '500m': 4 };
const [LARGE = '', SMALL = ''] = Object.keys(PODS_A_MACHINE);

const podOf = (cpu: string): object => ({
  spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu } } }] },
});

interface Need {
  readonly at: number;
  readonly machines: number | undefined;
}

/**
 * Simulates a user who changes, deletes and creates the buffer and its PodTemplate. These results are reported as
 * wrong:
 * - The manager writes a number that the buffer has not required recently.
 * - The manager changes the number while it is unknown, for example before the manager has read the buffers.
 * - After a time without changes, the number differs from the number that the buffer requires.
 */
class BufferFeature implements Feature {
  readonly maxWaitMs = 120_000;
  readonly #world: World;
  #replicas: number | undefined = 2;
  #cpu: string | undefined = LARGE;
  readonly #needs: Need[] = [];
  #recorded: string | undefined;
  #verified = 0;

  constructor(world: World, signal: AbortSignal) {
    this.#world = world;
    this.#note();
    follow<MachineDeployment>(world, machineDeployments, signal, ({ object }) => this.#changed(object));
  }

  get verified(): number {
    return this.#verified;
  }

  #need(): number | undefined {
    if (this.#replicas === undefined) return 0;
    return this.#cpu === undefined ? undefined : Math.ceil(this.#replicas / (PODS_A_MACHINE[this.#cpu] ?? 1));
  }

  #note(): void {
    this.#needs.push({ at: this.#world.clock.now().getTime(), machines: this.#need() });
    this.#world.wantsWarm = this.#need() ?? this.#world.wantsWarm;
  }

  async act(dice: Dice): Promise<void> {
    const choice = dice.number(6);
    if (choice === 0) await this.#putBuffer(this.#replicas === undefined ? 1 + dice.number(MOST_WARM) : undefined);
    else if (choice === 1) await this.#putTemplate(this.#cpu === undefined ? LARGE : undefined);
    else if (choice === 2) await this.#putTemplate(this.#cpu === SMALL ? LARGE : SMALL);
    else await this.#putBuffer(dice.number(MOST_WARM + 1));
    // Before a new manager has read the buffer, it must not decide.
    if (dice.number(2) === 0) this.#world.kill('manager');
  }

  async #putBuffer(replicas: number | undefined): Promise<void> {
    const client = this.#world.admin.resource<Buffer>(buffers, NAMESPACE);
    const spec = { podTemplateRef: { name: TEMPLATE }, replicas: replicas ?? 0 };
    this.#world.reporter.note('act', `the buffer has ${replicas ?? 'no'} replicas`);
    // The requirement counts from the time of the request, because the manager may read the object before the response.
    const before = this.#replicas;
    this.#replicas = replicas;
    this.#note();
    if (replicas === undefined) await ignoreNotFound(client.delete(NAME));
    else if (before === undefined) await client.create({ metadata: { name: NAME, namespace: NAMESPACE }, spec });
    else await client.patch(NAME, { type: 'merge', body: { spec } });
  }

  async #putTemplate(cpu: string | undefined): Promise<void> {
    const client = this.#world.admin.resource<Template>(templates, NAMESPACE);
    this.#world.reporter.note('act', `the pods of the buffer request ${cpu ?? 'no'} processors`);
    const before = this.#cpu;
    this.#cpu = cpu;
    this.#note();
    if (cpu === undefined) await ignoreNotFound(client.delete(TEMPLATE));
    else if (before === undefined)
      await client.create({ metadata: { name: TEMPLATE, namespace: NAMESPACE }, template: podOf(cpu) });
    else await client.patch(TEMPLATE, { type: 'merge', body: { template: podOf(cpu) } });
  }

  async calm(): Promise<void> {
    if (this.#cpu === undefined) await this.#putTemplate(LARGE);
  }

  async verifyTimely(): Promise<void> {
    const { clock } = this.#world;
    await this.#putBuffer(MOST_WARM);
    await clock.advance(BOUNDS.bufferFollowed.ms);
    await this.verifyEnd();
    await this.#putTemplate(this.#cpu === SMALL ? LARGE : SMALL);
    await clock.advance(BOUNDS.bufferFollowed.ms);
    await this.verifyEnd();
    await this.#putBuffer(1);
    await clock.advance(BOUNDS.bufferFollowed.ms);
    await this.verifyEnd();
  }

  async verifyEnd(): Promise<void> {
    const need = String(this.#need());
    if (this.#recorded !== need)
      this.#world.reporter.violate(
        `the deployment records ${this.#recorded} warm machines, and the buffer needs ${need}`,
      );
  }

  #changed({ metadata }: MachineDeployment): void {
    const recorded = metadata.annotations?.[Annotations.WarmBufferMachines];
    if (recorded === this.#recorded) return;
    this.#recorded = recorded;
    this.#verified++;
    const { clock, network, reporter } = this.#world;
    const lagMs = network.lagMs('manager', 'machinedeployments', 'machineclasses', buffers.plural, templates.plural);
    const since = clock.now().getTime() - lagMs;
    const first = Math.max(
      this.#needs.findLastIndex(({ at }) => at <= since),
      0,
    );
    const recent = this.#needs.slice(first).map(({ machines }) => String(machines));
    if (!recent.includes(String(recorded)))
      reporter.violate(`the manager records ${recorded} warm machines, but the buffer needed ${recent.join(', ')}`);
  }
}

async function furnish(admin: KubeClient): Promise<void> {
  const metadata = { namespace: NAMESPACE };
  await admin.resource<Template>(templates, NAMESPACE).create({
    metadata: { ...metadata, name: TEMPLATE },
    template: podOf(LARGE),
  });
  const spec = { podTemplateRef: { name: TEMPLATE }, replicas: 2 };
  await admin.resource<Buffer>(buffers, NAMESPACE).create({ metadata: { ...metadata, name: NAME }, spec });
}

export const bufferOptIn = (seed: number): OptIn => ({
  options: {
    annotations: {
      [Annotations.WarmBuffer]: `${NAMESPACE}/${NAME}`,
      [Annotations.WarmState]: seed % 4 === 3 ? 'Running' : 'Stopped',
    },
    crds: [CRD],
    capacityBuffers: true,
    classFields: { nodeTemplate: { capacity: CAPACITY, instanceType: 'small', region: 'local', zone: 'local-a' } },
    furnish,
  },
  watch: (world, signal) => new BufferFeature(world, signal),
});
