import { invalidValue } from '../../apimachinery/errors/errors.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';

const LEVELS = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof LEVELS)[number];

/**
 * A level and a version of the Pod Security Standards. For the version `latest`, the minor version is larger than any
 * other.
 */
export interface Standard {
  readonly level: Level;
  readonly minor: number | 'latest';
}

/** The server ignores the level for audit, because the server writes no audit log. */
export interface Policy {
  readonly enforce: Standard;
  readonly warn: Standard;
}

const PREFIX = 'pod-security.kubernetes.io/';
const STRICTEST: Standard = { level: 'restricted', minor: 'latest' };
const OPEN: Standard = { level: 'privileged', minor: 'latest' };
const NO_POLICY: Policy = { enforce: OPEN, warn: OPEN };

export const strictness = (level: Level): number => LEVELS.indexOf(level);

export const showStandard = ({ level, minor }: Standard): string =>
  `${level}:${minor === 'latest' ? minor : `v1.${minor}`}`;

export const sameStandard = (a: Standard, b: Standard): boolean => a.level === b.level && a.minor === b.minor;

function parseMinor(version: string): number | 'latest' | undefined {
  if (version === 'latest') return version;
  const digits = /^v1\.(\d|[1-9]\d*)$/.exec(version)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * - If the level of `enforce` is invalid, the server uses the level restricted. If the level of `audit` or `warn` is
 *   invalid, the server uses the level privileged.
 * - If the version is invalid, the server uses the version `latest`.
 * - If a namespace has no label for `warn`, the level of `enforce` also causes warnings.
 */
export function policyOf(labels: Readonly<Record<string, string>> = {}): {
  readonly policy: Policy;
  readonly causes: readonly StatusCause[];
} {
  const causes: StatusCause[] = [];
  const addProblem = (label: string, value: string, why: string): void => {
    causes.push(invalidValue(`metadata.labels[${label}]`, value, why));
  };
  const read = (mode: string, unreadable: Level): { standard: Standard; said: boolean; good: boolean } => {
    const label = `${PREFIX}${mode}`;
    const [level, version] = [labels[label], labels[`${label}-version`]];
    const known = LEVELS.find((one) => one === level);
    if (level !== undefined && known === undefined) addProblem(label, level, `must be one of ${LEVELS.join(', ')}`);
    const minor = version === undefined ? 'latest' : parseMinor(version);
    if (minor === undefined) addProblem(`${label}-version`, version ?? '', 'must be "latest" or "v1.x"');
    const standard = {
      level: level === undefined ? OPEN.level : (known ?? unreadable),
      minor: minor ?? STRICTEST.minor,
    };
    return { standard, said: level !== undefined, good: known !== undefined };
  };
  if (!Object.keys(labels).some((label) => label.startsWith(PREFIX))) return { policy: NO_POLICY, causes };
  const enforce = read('enforce', STRICTEST.level);
  read('audit', OPEN.level);
  const warn = read('warn', OPEN.level);
  const follows = !warn.said && enforce.good && strictness(enforce.standard.level) > strictness(warn.standard.level);
  const minor = Object.hasOwn(labels, `${PREFIX}warn-version`) ? warn.standard.minor : enforce.standard.minor;
  return {
    policy: {
      enforce: enforce.standard,
      warn: follows ? { level: enforce.standard.level, minor } : warn.standard,
    },
    causes,
  };
}
