import { execFileSync } from 'node:child_process';

/** The programs of `mcm up --machine-config`, with a part of the command line that identifies each program. */
const PROGRAMS = {
  'control-plane': /\/control-plane\/src\/main\.ts/,
  'local-cloud': /\/local\/src\/cloud\/main\.ts/,
  'machine-controller-manager': /\/machine-controller-manager\/src\/main\.ts/,
  'machine-controller-local': /\/local\/src\/main\.ts/,
  'machine-config-controller': /\/machine-config-controller\/src\/main\.ts/,
} as const;

export type ProgramName = keyof typeof PROGRAMS;
export const PROGRAM_NAMES = Object.keys(PROGRAMS) as readonly ProgramName[];

/** The process IDs of the programs that a supervisor currently runs. A program that waits for its restart is absent. */
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
