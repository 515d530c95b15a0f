import { parseArgs } from 'node:util';
import { audit, verdict } from './audit.ts';

// usage: pnpm advisories [--strict]: prints known vulnerabilities of the published packages. The exit status is 1 if
// there is a vulnerability; with --strict also if the registry does not respond.
const { values } = parseArgs({ options: { strict: { type: 'boolean', default: false } } });
const { text, code } = verdict(await audit(), values.strict);
process.stdout.write(`${text}\n`);
process.exitCode = code;
