import { execFile } from 'node:child_process';
import { ROOT } from '../root.ts';

/** A known weakness of a package that is shipped. */
export interface Advisory {
  readonly package: string;
  readonly versions: string;
  readonly severity: string;
  readonly title: string;
  readonly url: string;
}

/** What asking for the advisories of all shipped packages came to. */
export type Audit =
  | { readonly outcome: 'clean'; readonly packages: number }
  | { readonly outcome: 'found'; readonly advisories: readonly Advisory[] }
  | { readonly outcome: 'unanswered'; readonly because: string };

/** The part of `pnpm audit --json` that is read. */
interface Report {
  readonly advisories: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly metadata?: { readonly totalDependencies?: number };
}

function reportIn(text: string): Report | undefined {
  try {
    const report: unknown = JSON.parse(text);
    return typeof report === 'object' && report !== null && 'advisories' in report ? (report as Report) : undefined;
  } catch {
    return undefined; // No JSON is no report; what was said instead is told to the user.
  }
}

/** Reads what `pnpm audit --json` printed and said. */
export function readAudit(printed: string, said: string): Audit {
  const report = reportIn(printed);
  if (report === undefined) {
    const words = (said.trim() || printed.trim() || 'nothing was said').replaceAll(/^npm warn.*$/gm, '');
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

/** Asks the registry for the advisories of every package that the published ones depend on. @param more arguments of `pnpm audit` */
export function audit(more: readonly string[] = []): Promise<Audit> {
  const args = ['-y', 'pnpm@12.21.0', 'audit', '--prod', '--json', ...more];
  return new Promise((resolve) => {
    // How it ended is in what it printed: a finding is exit status 1, and so is a registry that does not answer.
    execFile('npx', args, { cwd: ROOT, maxBuffer: 1 << 26 }, (_error, printed, said) =>
      resolve(readAudit(printed, said)),
    );
  });
}

/** What to tell of an audit, and the exit status: 1 for a finding, and with `strict` for none to be had. */
export function verdict(audit: Audit, strict: boolean): { readonly text: string; readonly code: 0 | 1 } {
  if (audit.outcome === 'clean') return { text: `no advisory is known of ${audit.packages} packages`, code: 0 };
  if (audit.outcome === 'unanswered') {
    const instead = 'give the bills of materials (pnpm bundle) to a scanner that has the advisories itself';
    return { text: `not audited: ${audit.because}\n${instead}`, code: strict ? 1 : 0 };
  }
  const lines = audit.advisories.map(
    (one) => `${one.severity}: ${one.package} ${one.versions}: ${one.title} (${one.url})`,
  );
  return { text: [...lines, 'update it, or justify it: SECURITY.md'].join('\n'), code: 1 };
}
