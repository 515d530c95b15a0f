import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../docs/sources.ts';

const hasHelm = spawnSync('helm', ['version'], { stdio: 'ignore' }).error === undefined;

const chart = mkdtempSync(join(tmpdir(), 'notes-'));

/** `helm template` prints no notes, so a copy of the chart contains the notes as an object. */
beforeAll(() => {
  const templates = join(chart, 'templates');
  cpSync(join(ROOT, 'deploy/helm/machine-controller-manager'), chart, { recursive: true });
  const notes = readFileSync(join(templates, 'NOTES.txt'), 'utf8');
  writeFileSync(join(templates, '_notes.tpl'), `{{- define "notes" }}\n${notes}{{- end }}\n`);
  writeFileSync(join(templates, 'notes.yaml'), 'kind: Notes\ntext: {{ include "notes" . | toJson }}\n');
});
afterAll(() => rmSync(chart, { recursive: true }));

/** Returns the commands in the notes that Helm prints after an installation in the namespace `mcm`. */
function commandsOf(...values: readonly string[]): readonly string[] {
  const args = ['template', 'mcm', chart, '--namespace', 'mcm', '--kube-version', 'v1.36.0'];
  const more = ['--show-only', 'templates/notes.yaml', '--set', ['provider=local', ...values].join(',')];
  const { text }: { text: string } = parse(execFileSync('helm', [...args, ...more], { encoding: 'utf8' }));
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('kubectl'));
}

const waits = (...values: readonly string[]): readonly string[] =>
  commandsOf(...values)
    .filter((line) => line.includes(' rollout status '))
    .map((line) => line.replace('kubectl -n mcm rollout status ', ''));

const BIND =
  'kubectl -n NAMESPACE create rolebinding mcm-fleet --clusterrole=mcm-fleet-cluster.mcm --serviceaccount=mcm:mcm-fleet';

describe.runIf(hasHelm)('the notes of the chart', () => {
  test.each([
    [[], ['deployment/machine-controller-manager']],
    [
      ['separateController.enabled=true', 'machineConfig.enabled=true'],
      [
        'deployment/machine-controller-manager',
        'deployment/machine-controller',
        'deployment/machine-config-controller',
      ],
    ],
    [['fleet.enabled=true'], ['statefulset/mcm-fleet']],
  ])('with the values %j, the notes wait for each program of the release', (values, wanted) => {
    expect(waits(...values)).toEqual(wanted);
  });

  test.each([
    [
      'fleet.selector=a=b',
      [
        'kubectl -n NAMESPACE create secret generic fleet-kubeconfig --from-file=kubeconfig=FILE',
        BIND,
        'kubectl label namespace NAMESPACE a=b',
      ],
    ],
    [
      'fleet.clusters=a=b',
      [BIND, 'kubectl -n NAMESPACE label cluster.cluster.x-k8s.io NAME a=b', 'kubectl label namespace NAMESPACE a=b'],
    ],
    [
      'fleet.clusterProfiles=a=b',
      [
        'kubectl -n mcm create secret generic NAME --from-file=Config=FILE',
        'kubectl -n mcm label secret NAME x-k8s.io/cluster-profile=NAME',
        'kubectl -n mcm label clusterprofile NAME a=b',
      ],
    ],
  ])('with the value %s, the notes add a cluster of this source', (value, wanted) => {
    const commands = commandsOf('fleet.enabled=true', value);
    expect(commands.filter((line) => /create secret|rolebinding| label /.test(line))).toEqual(wanted);
  });
});
