import { readFileSync } from 'node:fs';

/** The clock tick rate is 100 on all Linux systems that Node.js supports. */
const TICKS_PER_SECOND = 100;

/** Returns the CPU time of a process (user and system) in milliseconds. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

function statusMb(pid: number, field: string): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(line?.[1] ?? Number.NaN) * 1024) / 1e6;
}

/** Returns the resident memory of a process in MB (10⁶ bytes). */
export const rssMb = (pid: number): number => statusMb(pid, 'VmRSS');

/** Returns the maximum resident memory of a process since its start, in MB (10⁶ bytes). */
export const peakRssMb = (pid: number): number => statusMb(pid, 'VmHWM');
