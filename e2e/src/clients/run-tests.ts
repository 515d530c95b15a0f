import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT } from '../docs/sources.ts';
import type { Outcome } from './outcomes.ts';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Parses a JSON report of Vitest. */
export function readVitest(text: string): Outcome[] {
  const { testResults } = JSON.parse(text) as Report;
  return testResults.flatMap(({ name, status, assertionResults }) => {
    if (status === 'failed' && assertionResults.length === 0) return [{ name, passed: false }];
    return assertionResults
      .filter((each) => each.status === 'passed' || each.status === 'failed')
      .map((each) => ({ name: each.fullName.trim(), passed: each.status === 'passed' }));
  });
}

export async function runTests(folder: string, files: readonly string[]): Promise<Outcome[]> {
  const output = mkdtempSync(join(tmpdir(), 'mcm tests '));
  try {
    const report = join(output, 'report.json');
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    const args = [vitest, 'run', '--root', ROOT, ...files, '--reporter=json', `--outputFile=${report}`];
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ''}` };
    const printed = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, { env, maxBuffer: 1e8 }, (_error, stdout, stderr) =>
        resolve(`${stdout}${stderr}`),
      );
    });
    if (existsSync(report)) return readVitest(readFileSync(report, 'utf8'));
    return [{ name: `the tests did not run: ${printed.trim().split('\n').slice(-3).join(' | ')}`, passed: false }];
  } finally {
    rmSync(output, { recursive: true });
  }
}
