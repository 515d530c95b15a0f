import { join } from 'node:path';

/** One program of a suite. */
export interface Program {
  /** Its path below the folder of the programs. */
  readonly path: string;
  /** Its working folder below the folder of the programs. */
  readonly cwd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The form of its results. */
  readonly results: 'ginkgo' | 'go-test';
}

/** A suite of another project. */
export interface Suite {
  readonly name: string;
  /** Whether the control plane runs its controllers. */
  readonly controllers: boolean;
  readonly programs: readonly Program[];
}

/** Tests of envtest use the cluster of `KUBECONFIG` instead of their own. */
const EXISTING = { USE_EXISTING_CLUSTER: 'true' };

const goPackages = (suite: string, folder: string, names: readonly string[], results: Program['results']): Program[] =>
  names.map((name) => ({
    path: join(suite, `${name}.test`),
    cwd: join(suite, 'src', folder, name),
    args: results === 'go-test' ? ['-test.v'] : [],
    env: EXISTING,
    results,
  }));

/** Specs that do not start containers themselves are a part of `[Conformance]`, and the others need a kubelet. */
const CONFORMANCE = [
  '--provider=local',
  '--ginkgo.focus=\\[Conformance\\]',
  '--ginkgo.timeout=4h',
  '--allowed-not-ready-nodes=-1',
];

/** All suites. The README of `e2e/clients` describes the layout of the folder. */
export const SUITES: readonly Suite[] = [
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
    programs: goPackages(
      'cluster-api',
      'internal/controllers',
      ['machine', 'machineset', 'machinedeployment'],
      'go-test',
    ),
  },
  {
    name: 'conformance',
    controllers: true,
    programs: [{ path: 'conformance/e2e.test', cwd: 'conformance', args: CONFORMANCE, env: {}, results: 'ginkgo' }],
  },
];
