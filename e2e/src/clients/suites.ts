import { join } from 'node:path';
import { UPSTREAM } from './autoscaler/autoscalers.ts';
import { AUTOSCALER_SUITES } from './autoscaler/run-autoscaler.ts';
import { runGroups } from './autoscaler/run-groups.ts';
import { conformancePrograms, readSelection } from './conformance.ts';
import { runKarpenter } from './karpenter/run-karpenter.ts';
import { KARPENTER_FILES } from './karpenter/start-karpenter.ts';
import { HELM, runHelm } from './run-helm.ts';
import { PROMETHEUS, PROMTOOL, runPrometheus } from './run-prometheus.ts';
import type { Program, Scenario, Suite } from './suite.ts';

const EXISTING = { USE_EXISTING_CLUSTER: 'true' };

const goPackages = (suite: string, folder: string, names: readonly string[], results: Program['results']): Program[] =>
  names.map((name) => ({
    path: join(suite, `${name}.test`),
    cwd: join(suite, 'src', folder, name),
    args: results === 'go-test' ? ['-test.v'] : [],
    env: EXISTING,
    results,
  }));

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
    controllers: true,
    nodes: ['node-1', 'node-2'],
    programs: conformancePrograms(readSelection()),
  },
  {
    name: 'kopf',
    controllers: true,
    programs: [
      {
        path: 'kopf/venv/bin/pytest',
        cwd: 'kopf/src',
        args: ['tests/e2e', '--only-e2e', '-v', '-p', 'no:cacheprovider', '-W', 'ignore::ResourceWarning'],
        env: {},
        results: 'pytest',
      },
    ],
  },
  ...AUTOSCALER_SUITES,
  { name: 'cluster-autoscaler-groups', files: [UPSTREAM.path], run: runGroups },
  { name: 'karpenter', files: KARPENTER_FILES, run: runKarpenter },
  { name: 'helm', files: [HELM], run: runHelm },
  { name: 'prometheus', files: [PROMETHEUS, PROMTOOL], run: runPrometheus },
];
