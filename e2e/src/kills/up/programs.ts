import { execFileSync } from 'node:child_process';

const PROGRAMS = {
  'control-plane': /\/control-plane\/src\/main\.ts/,
  'local-cloud': /\/local\/src\/cloud\/main\.ts/,
  'machine-controller-manager': /\/machine-controller-manager\/src\/main\.ts/,
  'machine-controller-local': /\/local\/src\/main\.ts/,
  'machine-config-controller': /\/machine-config-controller\/src\/main\.ts/,
} as const;

export type ProgramName = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as readonly ProgramName[];

/** Returns the process IDs of the programs that a supervisor runs. */
export function runningPrograms(supervisor: number): ReadonlyMap<ProgramName, number> {
  const found = new Map<ProgramName, number>();
  for (const line of execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')) {
    const [, pid, parent, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    if (Number(parent) !== supervisor) continue;
    const name = PROGRAM_NAMES.find((each) => PROGRAMS[each].test(args));
    if (name !== undefined) found.set(name, Number(pid));
  }
  return found;
}
