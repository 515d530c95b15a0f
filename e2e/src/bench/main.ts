import { bundled, LOCAL_PROGRAMS, resolverOf } from '../harness/bundled.ts';
import { planeFigures } from './control-plane/figures.ts';
import { largeFigures } from './control-plane/large-figures.ts';
import { dashboardFigures } from './dashboard.ts';
import { deploymentCosts } from './deployments.ts';
import { driverFigures } from './drivers/figures.ts';
import { fleetModeFigures, QUIET_LEASES } from './fleet-mode/figures.ts';
import { handOverFigures } from './hand-over.ts';
import { largeRollFigures } from './large-roll.ts';
import { machineConfigFigures } from './machine-config.ts';
import { BlockedDrains } from './machines/blocked-drains.ts';
import { emptyZoneFigures } from './machines/empty-zone.ts';
import type { Figure } from './machines/figure.ts';
import { fleetFigures, type Measured, podMemory } from './machines/fleet.ts';
import { IdleFleet } from './machines/idle-fleet.ts';
import { machineFigures } from './machines/index.ts';
import { interruptionFigures } from './machines/interruptions.ts';
import { planFigures } from './plan.ts';
import { startFigures } from './start.ts';

/** For each task, the figure of the Go original on the same computer, and the goal that follows from it. */
const GOALS: Readonly<Record<string, { original: string; goal: string }>> = {
  '0 → 100 machines Running and available': {
    original: '23 s; 10.3 writes, 6.2 reads; 35 ms CPU',
    goal: 'less than 3 s; per machine at most 8 writes (with a bootstrap token), 1 read and 15 ms CPU',
  },
  'Roll 100 machines, maxSurge 10 %, maxUnavailable 0': {
    original: '642 s; 33 writes, 176 reads; 306 ms CPU',
    goal: 'less than 20 s; per machine at most 12 writes (with a bootstrap token), 1 read and 30 ms CPU',
  },
  'Roll 1000 machines, maxSurge 10 %, maxUnavailable 0': {
    original: '642 s for 100',
    goal: '< 150 s',
  },
  '100 → 0': { original: '69 s; 18 writes, 14 reads', goal: '< 5 s; ≤ 8 writes' },
  '100 machines, idle for a minute': {
    original: 'machine controller: 58 MB RSS; deployment controller: 52 MB RSS',
    goal: '0 writes, 0 reads; each < 1 % of a core; RSS < 130 MB and < 95 MB',
  },
  '0 → 500 machines Running and available': { original: '57 s', goal: '< 10 s' },
  '500 machines, idle for a minute': {
    original: '22 writes in all, 0.3 s CPU',
    goal: '0 writes, 0 reads; < 0.3 s CPU',
  },
};

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

function report(measured: Measured): void {
  const per = (total: number): string => (total / measured.machines).toFixed(1);
  const goal = GOALS[measured.work];
  const idle = measured.work.includes('nothing to do');
  const figures = idle
    ? `${measured.counts.writes} writes, ${measured.counts.reads} reads in total; ${(measured.cpuMs / 1000).toFixed(2)} s CPU`
    : `${measured.seconds.toFixed(1)} s; ${per(measured.counts.writes)} writes, ${per(measured.counts.reads)} reads per machine; ${per(measured.cpuMs)} ms CPU per machine`;
  say(`\n${measured.work}`);
  say(`  here      ${figures}`);
  if (goal) {
    say(`  goal      ${goal.goal}`);
    say(`  original  ${goal.original}`);
  }
  if (measured.note) say(`  ${measured.note}`);
  for (const [what, times] of [...measured.counts.by].slice(0, 14)) say(`    ${String(times).padStart(6)}  ${what}`);
}

let missed = 0;

async function verify(figures: AsyncIterable<Figure> | Iterable<Figure>): Promise<void> {
  for await (const { work, here, goal, reached } of figures) {
    if (reached === false) missed += 1;
    const verdict = reached === undefined ? '    ' : reached ? 'PASS' : 'MISS';
    say(`${verdict}  ${work.padEnd(62)} ${here.padEnd(48)} goal ${goal}`);
  }
}

async function sizing(machines: number, pods: number): Promise<void> {
  const bundles = await bundled(LOCAL_PROGRAMS);
  try {
    await verify(IdleFleet.sizes(machines, pods, resolverOf(bundles)));
  } finally {
    bundles.remove();
  }
}

/** Measures the bundled programs, which the images contain too. */
async function fleet(
  machines: number,
  tasks: { readonly roll?: boolean; readonly idle?: boolean } = {},
): Promise<void> {
  const bundles = await bundled(LOCAL_PROGRAMS);
  try {
    for await (const measured of fleetFigures(machines, { ...tasks, resolve: resolverOf(bundles) })) report(measured);
  } finally {
    bundles.remove();
  }
}

const SIZE = /^--machines=(\d+)$/;
const LARGE = 10_000;
const machinesOf = (argv: readonly string[]): number =>
  Number(argv.flatMap((argument) => SIZE.exec(argument)?.[1] ?? [])[0] ?? LARGE);

const WORKS: Readonly<Record<string, () => Promise<void>>> = {
  'fleet-100': () => fleet(100),
  'fleet-500': () => fleet(500),
  'control-plane': () => verify(planeFigures()),
  plan: () => verify(planFigures()),
  dashboard: () => verify(dashboardFigures()),
  start: () => verify(startFigures()),
  drivers: () => verify(driverFigures()),
  machines: () => verify(machineFigures()),
  'machine-config': () => verify(machineConfigFigures()),
  'hand-over': () => verify(handOverFigures()),
  'machines-empty-zone': () => verify(emptyZoneFigures()),
  'machines-interruptions': () => verify(interruptionFigures()),
  'machines-drains': () => verify(BlockedDrains.figures()),
  'machines-idle': () => verify(IdleFleet.figures()),
  'machines-pods': () => verify(IdleFleet.podFigures()),
  'fleet-mode-100': () => verify(fleetModeFigures(100, 10, [])),
  'fleet-mode-100-quiet': () => verify(fleetModeFigures(100, 10, [QUIET_LEASES])),
  'fleet-mode': () => verify(fleetModeFigures(1_000, 10, [QUIET_LEASES])),
  'sizing-100': () => sizing(100, 300),
  'sizing-1000': () => sizing(1_000, 3_000),
  'sizing-10000': () => sizing(10_000, 10_000),
  deployments: async () => {
    say('\nCPU time to reconcile a deployment of 10 machines, by the number of other deployments');
    for await (const { deployments, cpuMsEach, latencyMs, rssMb } of deploymentCosts([1, 100, 1_000])) {
      say(
        `  ${String(deployments).padStart(5)} deployments  ${cpuMsEach.toFixed(2)} ms CPU, done after ${latencyMs.toFixed(1)} ms, RSS ${rssMb.toFixed(0)} MB`,
      );
    }
    say(
      '  goal      less than 5 ms per reconcile with few deployments, and at most twice this time with many deployments',
    );
  },
  'large-roll': () => verify(largeRollFigures(machinesOf(process.argv))),
  'roll-1000': () => fleet(1_000, { roll: true, idle: false }),
  pods: async () => {
    const { podCount, rssMb, peakNote } = await podMemory(20_000);
    say(`\nmemory (RSS) of a machine controller that watches ${podCount} pods`);
    say(`  here      ${rssMb.toFixed(0)} MB (${peakNote})`);
    say('  goal      < 200 MB');
    say('  original  577 MB');
  },
};

const LONG_WORKS: Readonly<Record<string, () => Promise<void>>> = {
  'control-plane --large': () => verify(largeFigures()),
};

const all = { ...WORKS, ...LONG_WORKS };
const asked = process.argv
  .slice(2)
  .filter((argument) => !SIZE.test(argument))
  .join(',')
  .replaceAll(',--large', ' --large')
  .split(',')
  .filter((name) => name !== '');
const unknown = asked.filter((name) => !(name in all));
if (unknown.length > 0) {
  process.stderr.write(
    `bench: unknown benchmark ${unknown.join(', ')}; known benchmarks: ${Object.keys(all).join(', ')}\n`,
  );
  process.exit(2);
}
say(
  'The control plane uses HTTPS. Its store is in memory, except in `start`, in `control-plane --large` and in the lines with `sqlite store`. The local cloud has no latency, and the kubelets are simulated. Each controller is a process. The numbers of writes and reads come from the request log of the server.',
);
for (const name of asked.length > 0 ? asked : Object.keys(WORKS)) await all[name]?.();
if (missed > 0)
  process.stderr.write(`bench: ${missed} ${missed === 1 ? 'figure misses its goal' : 'figures miss their goals'}\n`);
process.exit(missed > 0 ? 1 : 0);
