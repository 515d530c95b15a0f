import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Program } from './suite.ts';

export interface Selection {
  readonly excluded: Readonly<Record<string, readonly string[]>>;
  readonly scheduler: readonly string[];
  /** The specs that need simulated kubelets, because their pods must run. */
  readonly kubelets: readonly string[];
}

export const readSelection = (): Selection =>
  parse(readFileSync(join(import.meta.dirname, '../../clients/conformance.yaml'), 'utf8')) as Selection;

const anyOf = (texts: readonly string[]): string =>
  texts.map((each) => each.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join('|');

/** If no scheduler runs, pods have no Node. */
const CONTROLLERS = ['*', '-nodelifecycle'];

/**
 * Returns the three runs of the Kubernetes end-to-end tests: without the scheduler, with the scheduler, and with
 * simulated kubelets.
 */
export function conformancePrograms({ excluded, scheduler, kubelets }: Selection): Program[] {
  const program = (
    setup: Pick<Program, 'controllers' | 'kubelets'>,
    focus: string,
    skipped: readonly string[] = [],
  ): Program => ({
    path: 'conformance/e2e.test',
    cwd: 'conformance',
    args: [
      '--provider=local',
      `--ginkgo.focus=${focus}`,
      ...(skipped.length === 0 ? [] : [`--ginkgo.skip=${anyOf(skipped)}`]),
      '--ginkgo.timeout=4h',
      '--allowed-not-ready-nodes=-1',
    ],
    env: {},
    results: 'ginkgo',
    ...setup,
  });
  const only = (texts: readonly string[]): string => String.raw`(${anyOf(texts)}).*\[Conformance\]`;
  const never = Object.values(excluded).flat();
  const conformance = String.raw`\[Conformance\]`;
  return [
    program({ controllers: [...CONTROLLERS, '-scheduler'] }, conformance, [...never, ...scheduler, ...kubelets]),
    program({ controllers: CONTROLLERS }, only(scheduler)),
    program({ controllers: true, kubelets: true }, only(kubelets), never),
  ];
}
