import { parseArgs } from 'node:util';
import { audit, verdict } from './audit.ts';

// usage: pnpm advisories [--strict]: known vulnerabilities of the published packages. Exit status 1 for one; with --strict also where the registry does not answer.
const { values } = parseArgs({ options: { strict: { type: 'boolean', default: false } } });
const { text, code } = verdict(await audit(), values.strict);
process.stdout.write(`${text}\n`);
process.exitCode = code;
