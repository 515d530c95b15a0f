import type { Command } from 'commander';
import { completionScript, SHELLS } from './completion.ts';
import { kubectlScript } from './kubectl.ts';

const ASKING = [...SHELLS, 'kubectl'] as const;

export function addCompletion(program: Command, say: (line: string) => void): void {
  program
    .command('completion')
    .description('print a script that completes commands and flags in a shell')
    .addArgument(program.createArgument('<shell>', ASKING.join(', ')).choices(ASKING))
    .action((shell: (typeof ASKING)[number]) => {
      const script = shell === 'kubectl' ? kubectlScript(program.name()) : completionScript(program, shell);
      say(script.trimEnd());
    });
}
