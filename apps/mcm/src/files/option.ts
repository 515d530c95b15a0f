/** The option of each command that reads files of objects. */
export const RECURSIVE = ['-R, --recursive', 'also read the directories below the given ones'] as const;
