/** The option of all commands that read files with objects. */
export const RECURSIVE = ['-R, --recursive', 'also read the directories below the given ones'] as const;
