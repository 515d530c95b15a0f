import { join } from 'node:path';
import { AUTOSCALER, runAutoscaler } from './autoscaler/run-autoscaler.ts';
import type { Outcome } from './outcomes.ts';

export interface Program {
  /** The path of the program in the folder of programs. */
  readonly path: string;
  /** The working directory in the folder of programs. */
  readonly cwd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The format of the results. */
  readonly results: 'ginkgo' | 'go-test' | 'pytest';
}

export interface Suite {
  readonly name: string;
  /** Whether the control plane runs its controllers, or the names of the controllers. */
  readonly controllers: boolean | readonly string[];
  /** The names of Nodes without a kubelet. These Nodes are always ready. */
  readonly nodes?: readonly string[];
  readonly programs: readonly Program[];
}

/** A foreign program that runs together with the programs of mcm. */
export interface Scenario {
  readonly name: string;
  /** The paths of the programs in the folder of programs. */
  readonly files: readonly string[];
  /** @param dir The folder of programs. */
  run(dir: string): Promise<Outcome[]>;
}

/** With this variable, tests of envtest use the cluster of `KUBECONFIG` instead of a separate cluster. */
const EXISTING = { USE_EXISTING_CLUSTER: 'true' };

const goPackages = (suite: string, folder: string, names: readonly string[], results: Program['results']): Program[] =>
  names.map((name) => ({
    path: join(suite, `${name}.test`),
    cwd: join(suite, 'src', folder, name),
    args: results === 'go-test' ? ['-test.v'] : [],
    env: EXISTING,
    results,
  }));

/** The `[Conformance]` specs that need no running containers. Specs with running containers need a kubelet. */
const CONFORMANCE = [
  '--provider=local',
  '--ginkgo.focus=\\[Conformance\\]',
  '--ginkgo.timeout=4h',
  '--allowed-not-ready-nodes=-1',
];

/** All suites. The README of `e2e/clients` describes the folder. */
export const SUITES: readonly (Suite | Scenario)[] = [
  {
    name: 'controller-runtime',
    controllers: false,
    programs: goPackages(
      'controller-runtime',
      'pkg',
      ['client', 'cache', 'builder', 'manager', 'controller'],
      'ginkgo',
    ),
  },
  {
    name: 'cluster-api',
    controllers: false,
    programs: goPackages('cluster-api', 'core/reconcilers', ['machine', 'machineset', 'machinedeployment'], 'go-test'),
  },
  {
    name: 'conformance',
    // The tests need ready Nodes. Without the scheduler, Pods stay without a Node, so that their deletion needs no kubelet.
    controllers: ['*', '-nodelifecycle', '-scheduler'],
    nodes: ['node-1', 'node-2'],
    programs: [{ path: 'conformance/e2e.test', cwd: 'conformance', args: CONFORMANCE, env: {}, results: 'ginkgo' }],
  },
  {
    name: 'kopf',
    controllers: true,
    programs: [
      {
        path: 'kopf/venv/bin/pytest',
        cwd: 'kopf/src',
        args: ['tests/e2e', '--only-e2e', '-v', '-p', 'no:cacheprovider'],
        env: {},
        results: 'pytest',
      },
    ],
  },
  { name: 'cluster-autoscaler', files: [AUTOSCALER], run: runAutoscaler },
];
