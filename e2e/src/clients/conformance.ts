import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Program } from './suite.ts';

/** The contents of `e2e/clients/conformance.yaml`. */
export interface Selection {
  /** The specs that do not run, by the reason. Each text excludes all specs whose names contain the text. */
  readonly excluded: Readonly<Record<string, readonly string[]>>;
  /** The specs that need the scheduler. */
  readonly scheduler: readonly string[];
}

export const readSelection = (): Selection =>
  parse(readFileSync(join(import.meta.dirname, '../../clients/conformance.yaml'), 'utf8')) as Selection;

/** Returns a regular expression, in the syntax of Go, for names that contain one of the texts. */
const anyOf = (texts: readonly string[]): string =>
  texts.map((each) => each.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join('|');

/** Without the scheduler, pods have no Node. The API server deletes these pods at once, without a kubelet. */
const CONTROLLERS = ['*', '-nodelifecycle'];

/** Returns two runs of the end-to-end tests of Kubernetes: one without the scheduler, and one with it. */
export function conformancePrograms({ excluded, scheduler }: Selection): Program[] {
  const program = (controllers: readonly string[], filter: readonly string[]): Program => ({
    path: 'conformance/e2e.test',
    cwd: 'conformance',
    args: ['--provider=local', ...filter, '--ginkgo.timeout=4h', '--allowed-not-ready-nodes=-1'],
    env: {},
    results: 'ginkgo',
    controllers,
  });
  const skipped = [...Object.values(excluded).flat(), ...scheduler];
  return [
    program(
      [...CONTROLLERS, '-scheduler'],
      [String.raw`--ginkgo.focus=\[Conformance\]`, `--ginkgo.skip=${anyOf(skipped)}`],
    ),
    program(CONTROLLERS, [String.raw`--ginkgo.focus=(${anyOf(scheduler)}).*\[Conformance\]`]),
  ];
}
