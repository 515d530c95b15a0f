import { parseArgs } from 'node:util';
import { seededRandom } from '@mcm/kube';
import { ROOT } from '../root.ts';
import { readPhrases, textsByFile } from './repository.ts';
import { drawSample, figuresOf } from './sample.ts';

// usage: pnpm prose:sample [--seed N]
//   Prints 100 sentences for a reader who does not know the code, and then the frequency of removed phrases.
//   With the same files, the same seed draws the same sentences.
const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' } } });
const seed = Number(values.seed);
if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('--seed must be a whole number of at least 0');
const texts = textsByFile(ROOT);
for (const { name, drawn } of drawSample(texts, seededRandom(seed))) {
  process.stdout.write(`\n${name}\n`);
  drawn.forEach(({ path, line, text }, index) => {
    process.stdout.write(`${String(index + 1).padStart(3)}. ${text}\n     ${path}:${line}\n`);
  });
}
process.stdout.write('\n');
for (const { name, words, phrases } of figuresOf(texts, readPhrases())) {
  process.stdout.write(`${name}: ${words} words, ${phrases.toFixed(1)} removed phrases in 10,000 words\n`);
}
