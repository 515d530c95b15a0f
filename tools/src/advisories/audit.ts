import { execFile } from 'node:child_process';
import { ROOT } from '../root.ts';

interface Advisory {
  readonly package: string;
  readonly versions: string;
  readonly severity: string;
  readonly title: string;
  readonly url: string;
}

export type Audit =
  | { readonly outcome: 'clean'; readonly packages: number }
  | { readonly outcome: 'found'; readonly advisories: readonly Advisory[] }
  | { readonly outcome: 'unanswered'; readonly because: string };

interface Report {
  readonly advisories: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly metadata?: { readonly totalDependencies?: number };
}

function reportIn(text: string): Report | undefined {
  try {
    const report: unknown = JSON.parse(text);
    return typeof report === 'object' && report !== null && 'advisories' in report ? (report as Report) : undefined;
  } catch {
    return undefined;
  }
}

/** Parses the output of `pnpm audit --json`. */
export function readAudit(printed: string, said: string): Audit {
  const report = reportIn(printed);
  if (report === undefined) {
    const words = (said.trim() || printed.trim() || 'pnpm printed nothing').replaceAll(/^npm warn.*$/gm, '');
    return { outcome: 'unanswered', because: words.replaceAll(/[│╰─▶×\s]+/g, ' ').trim() };
  }
  const advisories = Object.values(report.advisories).map((one) => ({
    package: String(one.module_name),
    versions: String(one.vulnerable_versions),
    severity: String(one.severity),
    title: String(one.title),
    url: String(one.url),
  }));
  if (advisories.length > 0) return { outcome: 'found', advisories };
  return { outcome: 'clean', packages: report.metadata?.totalDependencies ?? 0 };
}

/**
 * Requests the advisories for all dependencies of published packages.
 * @param more Additional arguments of `pnpm audit`.
 */
export function audit(more: readonly string[] = []): Promise<Audit> {
  const args = ['-y', 'pnpm@12.21.0', 'audit', '--prod', '--json', ...more];
  return new Promise((resolve) => {
    // pnpm exits with 1 both for a vulnerability and for a registry that does not respond, so the script parses the
    // output.
    execFile('npx', args, { cwd: ROOT, maxBuffer: 1 << 26 }, (_error, printed, said) =>
      resolve(readAudit(printed, said)),
    );
  });
}

/**
 * Returns a readable summary of an audit, and the exit code of the script. The exit code is 1 if the audit found a
 * vulnerability. With `--strict`, the exit code is also 1 if the registry did not respond.
 */
export function verdict(audit: Audit, strict: boolean): { readonly text: string; readonly code: 0 | 1 } {
  if (audit.outcome === 'clean') return { text: `none of the ${audit.packages} packages has an advisory`, code: 0 };
  if (audit.outcome === 'unanswered') {
    const instead = 'scan the bills of materials (pnpm bundle) with another scanner that has the advisories';
    return { text: `not audited: ${audit.because}\n${instead}`, code: strict ? 1 : 0 };
  }
  const lines = audit.advisories.map(
    (one) => `${one.severity}: ${one.package} ${one.versions}: ${one.title} (${one.url})`,
  );
  return {
    text: [...lines, 'update the package, or justify the version as described in SECURITY.md'].join('\n'),
    code: 1,
  };
}
