import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadRunner } from './battery.ts';
import { batteryFile, classesOf, reportLines, shrunkLines } from './report.ts';
import { playSeed } from './run.ts';
import { fixtures, prepare, type Server, startPlane, startReal } from './servers.ts';
import { shrink, tryWith } from './shrink.ts';
import type { Difference } from './verdict.ts';

const HELP = `usage: KUBEBUILDER_ASSETS=DIR pnpm fuzz:control-plane [options]
  Sends generated requests to a real kube-apiserver and to the embedded plane and prints the differences.
  --seed N        first seed (1)
  --seeds N       number of seeds (1)
  --requests N    requests of each seed (20000)
  --from N        number of the first case (0)
  --case N        run only this case of the seed.
  --kind NAME     run only cases of this kind.
  --shrink N      shrink one difference of each of the N most frequent classes (1)
  --exact also compare messages, content types and warnings.
  --details       print one case of each class.
  --out FILE      write the shrunk cases as a file of the battery.
The exit status is 1 after a difference and 2 after an error.
`;

function fail(message: string): never {
  process.stderr.write(`fuzz:control-plane: ${message}\n`);
  process.exit(2);
}

const OPTIONS = {
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '1' },
  requests: { type: 'string', default: '20000' },
  from: { type: 'string', default: '0' },
  case: { type: 'string' },
  kind: { type: 'string' },
  shrink: { type: 'string', default: '1' },
  exact: { type: 'boolean', default: false },
  details: { type: 'boolean', default: false },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function readFlags() {
  const args = process.argv.slice(2).filter((argument) => argument !== '--');
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n${HELP}`);
  }
}

const flags = readFlags();
if (flags.help) {
  process.stdout.write(HELP);
  process.exit(0);
}

function wholeNumber(name: 'seed' | 'seeds' | 'requests' | 'from' | 'case' | 'shrink'): number {
  const value = Number(flags[name]);
  return Number.isSafeInteger(value) && value >= 0
    ? value
    : fail(`--${name} must be a whole number, not ${flags[name]}`);
}
const first = wholeNumber('seed');
const seeds = wholeNumber('seeds');
const requests = wholeNumber('requests');
const from = wholeNumber('from');
const shrunk = wholeNumber('shrink');
const only = flags.case === undefined ? undefined : wholeNumber('case');
const assets =
  process.env['KUBEBUILDER_ASSETS'] ||
  fail('set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd, such as the folder that setup-envtest prints');

const say = (lines: readonly string[]): void => {
  for (const line of lines) process.stdout.write(`${line}\n`);
};

async function play(real: Server, plane: Server, runner: Awaited<ReturnType<typeof loadRunner>>): Promise<boolean> {
  const { kinds: all, schemas, samples } = await prepare(real, plane);
  const kinds = all.filter(({ kind }) => flags.kind === undefined || kind === flags.kind);
  if (kinds.length === 0) fail(`--kind ${flags.kind}: no sample has this kind`);
  const attempt = tryWith(real.player, plane.player, flags.exact);
  const smallest: Difference[] = [];
  let same = true;
  for (let seed = first; seed < first + seeds; seed += 1) {
    const run = {
      seed,
      requests,
      from,
      only,
      exact: flags.exact,
      kinds,
      schemas,
      samples,
      real: real.player,
      plane: plane.player,
    };
    const outcome = await playSeed(run);
    for (const [, [each]] of classesOf(outcome.found).slice(0, shrunk)) {
      if (each === undefined) continue;
      const small = await shrink(each, attempt);
      smallest.push(small);
      say(shrunkLines(small, runner));
    }
    say(reportLines(seed, outcome, flags.details));
    same &&= outcome.found.length === 0;
  }
  if (flags.out !== undefined && smallest.length > 0)
    writeFileSync(
      flags.out,
      batteryFile(
        runner,
        fixtures,
        smallest.map((each) => each.case),
      ),
    ); // prettier-ignore
  return same;
}

const runner = await loadRunner();
const plane = await startPlane(runner);
const real = await startReal(runner, assets).catch(async (error: unknown) => {
  await plane.close();
  return fail(error instanceof Error ? error.message : String(error));
});
try {
  process.exitCode = (await play(real, plane, runner)) ? 0 : 1;
} finally {
  await real.close();
  await plane.close();
}
// Open keep-alive connections would keep the fuzzer running, so it exits explicitly.
process.exit();
