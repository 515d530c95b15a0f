import {
  API_VERSION,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { conform, type KubeObject, type ResourceDefinition } from '@mcm/kube';
import { malformations, sampleOf } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { assessControllers, ControllerObserver, controllerLines } from './controllers/health.ts';
import { explainDeployment } from './explain/deployment/deployment.ts';
import { deploymentLines } from './explain/deployment/deployment-lines.ts';
import { machineWait, waitLine } from './explain/machine/machine-wait.ts';
import { viewFleet } from './screen/fleet.ts';
import { renderScreen } from './screen/render.ts';
import { fleetTree, treeLines } from './tree/tree.ts';
import { statusLines } from './up/status.ts';

const NOW = new Date('2026-01-01T01:00:00Z');
const OWNERS: Readonly<Record<string, string>> = { MachineSet: 'MachineDeployment', Machine: 'MachineSet' };

function stored<T extends KubeObject>({ kind, shape = {} }: ResourceDefinition<T>, content: object): T {
  const owner = OWNERS[kind];
  const metadata = {
    name: kind.toLowerCase(),
    namespace: 'test',
    uid: kind,
    resourceVersion: '1',
    generation: 2,
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(owner && {
      ownerReferences: [
        { apiVersion: API_VERSION, kind: owner, name: owner.toLowerCase(), uid: owner, controller: true },
      ],
    }),
  };
  // The test changes the fields of objects of any kind, so the content has no type.
  const object = { ...structuredClone(content), apiVersion: API_VERSION, kind, metadata } as unknown as T;
  conform(object, shape);
  return object;
}

const KINDS: readonly ResourceDefinition<KubeObject>[] = [machineDeployments, machineSets, machines, machineClasses];
const sampled = ({ shape = {} }: ResourceDefinition<KubeObject>): object => sampleOf(shape) as object;
const SAMPLES = new Map(KINDS.map((definition) => [definition.kind, sampled(definition)]));

/** Returns all outputs for a fleet with one malformed object, as text. */
function outputs(kind: string, content: object): string {
  const of = <T extends KubeObject>(definition: ResourceDefinition<T>): T =>
    stored(definition, definition.kind === kind ? content : (SAMPLES.get(definition.kind) ?? {}));
  const deployment = of<MachineDeployment>(machineDeployments);
  const set = of<MachineSet>(machineSets);
  const machine = of<Machine>(machines);
  const machineClass = of<MachineClass>(machineClasses);
  const source = { leases: new Map(), deployments: [deployment], machines: [machine] };
  const controllers = assessControllers(source, NOW);
  const fleet = viewFleet([deployment], [set], [machine], [], new ControllerObserver().assess(source, NOW));
  const reading = { deployment, sets: [set], machines: new Map([['MachineSet', [machine]]]), fleet: [machine] };
  const explanation = explainDeployment({ ...reading, classes: [machineClass], others: [], controllers }, NOW, []);
  const wait = machineWait(machine, machineClass);
  const screen = { title: 'x', startedAt: NOW, now: NOW, programs: [], hint: [], columns: 200, rows: 100 };
  const report = { running: true, pid: 1, server: 'x', fleet, quarantinedVms: [], disruptions: [] } as const;
  const trees = fleetTree({ deployments: [deployment], sets: [set], machines: [machine], nodes: [] });
  return [
    ...treeLines(trees, true, NOW),
    ...deploymentLines(explanation, NOW),
    ...(wait ? [waitLine(wait, NOW)] : []),
    ...controllerLines(controllers, NOW),
    ...statusLines(report, NOW),
    renderScreen({ ...screen, fleet }),
  ].join('\n');
}

test.each(KINDS)(
  '$kind: tree, explain, status and the live screen print each malformed field',
  ({ kind, shape = {} }) => {
    const all = [...malformations(shape)];
    expect(all.length).toBeGreaterThan(20);
    const failures = all.flatMap(({ what, content }) => {
      try {
        const text = outputs(kind, content);
        const bad = /undefined|\[object Object\]|NaN|Invalid Date/.exec(text);
        return bad ? [`${what}: prints ${bad[0]}: ${text.split('\n').find((line) => line.includes(bad[0]))}`] : [];
      } catch (error) {
        return [
          `${what}: ${error instanceof Error ? (error.stack ?? '').split('\n').slice(0, 3).join(' ') : String(error)}`,
        ];
      }
    });
    expect(failures).toEqual([]);
  },
);
