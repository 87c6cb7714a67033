; The Windows installer: for the signed-in person only, so that it needs no administrator.
; Called by build/package/package.sh with VERSION, BIN, ROOT and OUT.
Target amd64-unicode
Unicode true
ManifestDPIAware true
RequestExecutionLevel user
SetCompressor /SOLID lzma

!include "MUI2.nsh"
!include "LogicLib.nsh"

!define NAME "Countersign"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\${NAME}"
!define RUN "Software\Microsoft\Windows\CurrentVersion\Run"

Name "${NAME}"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "${UNINSTALL}" "InstallLocation"
!define MUI_ICON "${ROOT}/build/windows/icon.ico"
!define MUI_UNICON "${ROOT}/build/windows/icon.ico"

!insertmacro MUI_PAGE_LICENSE "${ROOT}/LICENSE"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\countersign-desktop.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

; A running program cannot be replaced, and must not be killed in the middle of its work: the person quits it.
!macro WAIT_FOR_QUIT
  ${Do}
    ClearErrors
    ${IfNot} ${FileExists} "$INSTDIR\countersign-desktop.exe"
      ${ExitDo}
    ${EndIf}
    FileOpen $0 "$INSTDIR\countersign-desktop.exe" a
    ${IfNot} ${Errors}
      FileClose $0
      ${ExitDo}
    ${EndIf}
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Countersign is running. Please choose Quit in its tray menu, then Retry." /SD IDCANCEL IDRETRY +2
    Abort
  ${Loop}
!macroend

Section "Countersign"
  !insertmacro WAIT_FOR_QUIT
  SetOutPath "$INSTDIR"
  File "${BIN}/countersign-desktop.exe"
  File "${BIN}/countersign-tray.exe"
  File "${BIN}/countersign.exe"
  File "${ROOT}/LICENSE"
  File "${ROOT}/dist/third-party-licences.txt"
  File "${ROOT}/build/windows/icon.ico"

  CreateShortCut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\countersign-desktop.exe" "" "$INSTDIR\icon.ico"

  ; countersign: addresses open the window.
  WriteRegStr HKCU "Software\Classes\countersign" "" "URL:${NAME}"
  WriteRegStr HKCU "Software\Classes\countersign" "URL Protocol" ""
  WriteRegStr HKCU "Software\Classes\countersign\shell\open\command" "" '"$INSTDIR\countersign-desktop.exe" "%1"'
  ; The name under which notifications are shown.
  WriteRegStr HKCU "Software\Classes\AppUserModelId\${NAME}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "Software\Classes\AppUserModelId\${NAME}" "IconUri" "$INSTDIR\icon.ico"

  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\icon.ico"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "Countersign contributors"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
SectionEnd

; Chats, receipts and settings stay: they are the person's. README tells where they lie.
Section "Uninstall"
  !insertmacro WAIT_FOR_QUIT
  Delete "$INSTDIR\countersign-desktop.exe"
  Delete "$INSTDIR\countersign-tray.exe"
  Delete "$INSTDIR\countersign.exe"
  Delete "$INSTDIR\LICENSE"
  Delete "$INSTDIR\third-party-licences.txt"
  Delete "$INSTDIR\icon.ico"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${NAME}.lnk"
  DeleteRegValue HKCU "${RUN}" "${NAME}"
  DeleteRegValue HKCU "${RUN}" "${NAME} serve"
  DeleteRegKey HKCU "Software\Classes\countersign"
  DeleteRegKey HKCU "Software\Classes\AppUserModelId\${NAME}"
  DeleteRegKey HKCU "${UNINSTALL}"
SectionEnd
