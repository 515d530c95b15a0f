export interface Outcome {
  readonly name: string;
  readonly passed: boolean;
}

interface GinkgoSpec {
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeText?: string;
  readonly LeafNodeType?: string;
  readonly State?: string;
}

const RAN: ReadonlySet<string> = new Set(['passed', 'failed', 'panicked', 'timedout', 'interrupted', 'aborted']);

/**
 * Parses a JSON report of Ginkgo (`--ginkgo.json-report`).
 * @throws Error if the text is not a Ginkgo report.
 */
export function readGinkgo(text: string): Outcome[] {
  const reports: unknown = JSON.parse(text);
  if (!Array.isArray(reports)) throw new Error('the report of Ginkgo must be a list');
  return reports.flatMap(({ SpecReports }: { SpecReports?: readonly GinkgoSpec[] | null }) =>
    (SpecReports ?? []).flatMap((spec) => {
      const { State = '', LeafNodeType = 'It', LeafNodeText = '' } = spec;
      if (!RAN.has(State) || (LeafNodeType !== 'It' && State === 'passed')) return [];
      const name = [...(spec.ContainerHierarchyTexts ?? []), LeafNodeText].filter((part) => part !== '').join(' ');
      return [{ name: name === '' ? LeafNodeType : name, passed: State === 'passed' }];
    }),
  );
}

/** Parses the output of a Go test program that runs with `-test.v`. */
export function readGoTest(text: string): Outcome[] {
  const results = new Map<string, boolean | undefined>();
  for (const [, name = ''] of text.matchAll(/^\s*=== RUN\s+(\S+)$/gm)) results.set(name, false);
  for (const [, result, name = ''] of text.matchAll(/^\s*--- (PASS|FAIL|SKIP): (\S+) \(/gm)) {
    results.set(name, result === 'SKIP' ? undefined : result === 'PASS');
  }
  const names = [...results.keys()];
  const parents = new Set(names.flatMap((name) => name.split('/').map((_, at, parts) => parts.slice(0, at).join('/'))));
  return [...results].flatMap(([name, passed]) =>
    passed === undefined || (parents.has(name) && passed) || (parents.has(name) && hasFailedChild(name, results))
      ? []
      : [{ name, passed }],
  );
}

const hasFailedChild = (parent: string, results: ReadonlyMap<string, boolean | undefined>): boolean =>
  [...results].some(([name, passed]) => name.startsWith(`${parent}/`) && passed === false);

/** Parses the output of `pytest -v`. */
export function readPytest(text: string): Outcome[] {
  const results = new Map<string, boolean>();
  for (const [, name = '', result] of text.matchAll(/^(\S+\.py::.+?) (PASSED|FAILED|ERROR)\b/gm)) {
    results.set(name, result === 'PASSED' && results.get(name) !== false);
  }
  return [...results].map(([name, passed]) => ({ name, passed }));
}
